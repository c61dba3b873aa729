/**
 * Characters that make a text look other than it is: controls (tab and line feed are ordinary), line and
 * paragraph separators, everything Unicode says to draw as nothing (zero-width and direction marks, soft
 * hyphen, tags, variation selectors), lone surrogates. What holds one is never allowed by a rule.
 */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb\p{DI}\p{Cs}]/u

/** The first hidden character as `\u{202e}`, or undefined when the text is what it looks like. */
export function findHiddenCharacter(text: string): string | undefined {
  const match = HIDDEN.exec(text)
  return match ? `\\u{${match[0].codePointAt(0)!.toString(16).padStart(4, '0')}}` : undefined
}

import type { Node } from 'web-tree-sitter'

/** What thrown away output, no input and joined streams look like without blanks. */
const ALWAYS_OPENS = /^(\d?>>?|&>>?)\/dev\/null$|^\d?>&[12]$|^\d?<\/dev\/null$/

/** Whether a redirection changes nothing but where output goes, and cannot fail. */
export const alwaysOpens = (redirect: Node): boolean => ALWAYS_OPENS.test(redirect.text.replaceAll(/\s/g, ''))

/** A shell does not run what it cannot open the files for, and goes on behind it. */
export function mayFailToOpen(node: Node): boolean {
  return node.children.some((child) => child !== null && child.type.endsWith('_redirect') && !alwaysOpens(child))
}

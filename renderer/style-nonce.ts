/**
 * xterm writes `<style>` elements at run time. The content policy allows those that carry the nonce
 * which the protocol handler put into its header and, as `<meta property="style-nonce" nonce>`, into the page.
 * Must be imported before anything that creates style elements.
 */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="style-nonce"]')?.nonce ?? ''

if (nonce !== '') {
  const createElement = document.createElement.bind(document)
  document.createElement = ((name: string, options?: ElementCreationOptions): HTMLElement => {
    const element = createElement(name, options)
    if (element instanceof HTMLStyleElement) element.nonce = nonce
    return element
  }) as typeof document.createElement
}

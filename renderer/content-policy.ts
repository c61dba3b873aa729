/**
 * Lets xterm draw under our content policy without opening it. Must be imported before anything that
 * creates elements.
 *
 * xterm writes `<style>` elements at run time: they get the nonce that the protocol handler put into
 * its header and, as `<meta property="style-nonce" nonce>`, into the page. It also writes `style`
 * attributes for true colours and contrast: the policy refuses the attribute, while the same text set
 * through the style object is script acting, which it allows.
 */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="style-nonce"]')?.nonce ?? ''

if (nonce !== '') {
  const createElement = document.createElement.bind(document)
  document.createElement = ((name: string, options?: ElementCreationOptions): HTMLElement => {
    const element = createElement(name, options)
    if (element instanceof HTMLStyleElement) element.nonce = nonce
    return element
  }) as typeof document.createElement

  const setAttribute = HTMLElement.prototype.setAttribute
  HTMLElement.prototype.setAttribute = function (name: string, value: string): void {
    if (name === 'style') this.style.cssText = value
    else setAttribute.call(this, name, value)
  }
}

/** Where the window's own page lives: a scheme of ours, so that the page has a real origin and no file access. */
export const PAGE_SCHEME = 'app'
export const PAGE_HOST = 'gatehouse'
export const PAGE_URL = `${PAGE_SCHEME}://${PAGE_HOST}/index.html`

/** Whether an address belongs to the window's page. Compares parsed parts: a prefix would also fit `app://gatehouse.evil`. */
export function isOurs(address: string): boolean {
  let url: URL
  try {
    url = new URL(address)
  } catch {
    return false
  }
  return url.protocol === `${PAGE_SCHEME}:` && url.host === PAGE_HOST && url.username === '' && url.password === ''
}

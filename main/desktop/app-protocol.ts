import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { protocol, type Session } from 'electron'
import { contentPolicy } from './content-policy.ts'
import { resolvePageFile } from './page-files.ts'
import { isOurs, PAGE_SCHEME } from './page-origin.ts'

/** Makes the scheme an origin with the usual rules of the web. Must run before the app is ready. */
export function registerPageScheme(): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: PAGE_SCHEME, privileges: { standard: true, secure: true, supportFetchAPI: true } },
  ])
}

/** Serves the built page from `folder` to `session`, each document under a policy with a nonce of its own. */
export function servePage(session: Session, folder: string): void {
  session.protocol.handle(PAGE_SCHEME, async (request) => {
    const file = isOurs(request.url) && request.method === 'GET' ? resolvePageFile(folder, request.url) : null
    const body = file && (await readFile(file.path).catch(() => null))
    if (!file || !body) return new Response('not found', { status: 404, headers: { 'content-type': 'text/plain' } })
    const nonce = randomBytes(16).toString('base64')
    return new Response(file.contentType.startsWith('text/html') ? withStyleNonce(body.toString(), nonce) : body, {
      headers: {
        'content-type': file.contentType,
        'content-security-policy': contentPolicy(nonce),
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      },
    })
  })
}

/** Hands the page its nonce where scripts of other origins could not read it from (`nonce` is hidden in selectors). */
function withStyleNonce(html: string, nonce: string): string {
  return html.replace('<head>', `<head><meta property="style-nonce" nonce="${nonce}">`)
}

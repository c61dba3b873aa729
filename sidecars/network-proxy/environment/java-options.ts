/** Java reads no proxy variable; its virtual machine takes options from one. */

export const JAVA_OPTIONS = 'JAVA_TOOL_OPTIONS'

const OWN_OPTION = /(?:^|\s+)-D(?:https?\.(?:proxyHost|proxyPort)|http\.nonProxyHosts)=\S*/g
/** Java leaves these out by itself; without the option a local origin would be out of the proxy's sight. */
const NOTHING = ''
const LOCAL_HOSTS = 'localhost|127.*|[::1]|10.*|172.16.*|192.168.*'

/** The owner's options, with those for the proxy at `httpUrl` in place of any earlier ones. */
export function javaOptions(current: string | undefined, httpUrl: string, allowLocalBinding: boolean): string {
  const { hostname, port } = new URL(httpUrl)
  const own = [
    `-Dhttp.proxyHost=${hostname}`,
    `-Dhttp.proxyPort=${port}`,
    `-Dhttps.proxyHost=${hostname}`,
    `-Dhttps.proxyPort=${port}`,
    `-Dhttp.nonProxyHosts=${allowLocalBinding ? LOCAL_HOSTS : NOTHING}`,
  ]
  return [(current ?? '').replace(OWN_OPTION, '').trim(), ...own].filter((option) => option !== '').join(' ')
}

/** Java reads no proxy variable and no PEM file; its virtual machine takes options from a variable. */
import { KEYSTORE_PASSWORD } from '../certificates/java-keystore.ts'

export const JAVA_OPTIONS = 'JAVA_TOOL_OPTIONS'

const OWN_OPTION = /(?:^|\s+)-D(?:https?\.(?:proxyHost|proxyPort)|http\.nonProxyHosts)=\S*/g
const OWN_KEYSTORE = /-Djavax\.net\.ssl\.trustStore=/
/** Java leaves these out by itself; without the option a local origin would be out of the proxy's sight. */
const NOTHING = ''
const LOCAL_HOSTS = 'localhost|127.*|[::1]|10.*|172.16.*|192.168.*'

export interface JavaProxy {
  httpUrl: string
  allowLocalBinding: boolean
  /** Key store of the trust bundle; absent while nothing is inspected. */
  keystore: string | undefined
}

/** The owner's options, with those for the proxy in place of any earlier ones. A trust store of the owner stays. */
export function javaOptions(current: string | undefined, { httpUrl, allowLocalBinding, keystore }: JavaProxy): string {
  const { hostname, port } = new URL(httpUrl)
  const own = [
    `-Dhttp.proxyHost=${hostname}`,
    `-Dhttp.proxyPort=${port}`,
    `-Dhttps.proxyHost=${hostname}`,
    `-Dhttps.proxyPort=${port}`,
    `-Dhttp.nonProxyHosts=${allowLocalBinding ? LOCAL_HOSTS : NOTHING}`,
  ]
  const kept = (current ?? '').replace(OWN_OPTION, '').trim()
  if (keystore !== undefined && !OWN_KEYSTORE.test(kept))
    own.push(`-Djavax.net.ssl.trustStore=${keystore}`, `-Djavax.net.ssl.trustStorePassword=${KEYSTORE_PASSWORD}`)
  return [kept, ...own].filter((option) => option !== '').join(' ')
}

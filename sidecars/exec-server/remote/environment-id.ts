/** An environment's id goes into the registry's paths as it is. */
export function isEnvironmentId(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,128}$/.test(text)
}

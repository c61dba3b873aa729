/**
 * Milliseconds of processor time that this process has used. What must end after a while is measured by it: on a
 * busy machine a short text must not be taken for one that is too long to read.
 */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

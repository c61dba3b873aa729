/** A promise with its ends in hand. A rejection that nobody waits for is no error of the program. */
export interface Settled<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
}

export function settled<T>(): Settled<T> {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  promise.catch(() => {})
  return { promise, resolve, reject }
}

/** Waits for `promise`, or rejects with the signal's reason when that fires first. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error)
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Resolves after `delayMs`, or rejects with the signal's reason. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = settled<void>()
  const timer = setTimeout(resolve, delayMs)
  return abortable(promise, signal).finally(() => clearTimeout(timer))
}

import { registerFileMethods } from './files/file-methods.ts'
import type { MethodTable } from './wire/method-table.ts'

/** Every method beside `process/*`: files, http, environment. */
export function registerMethodFamilies(methods: MethodTable): void {
  registerFileMethods(methods)
}

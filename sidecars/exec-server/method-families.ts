import { registerFileMethods, type FileMethodOptions } from './files/file-methods.ts'
import { registerHttpMethods, type HttpMethodOptions } from './http/http-methods.ts'
import type { MethodTable } from './wire/method-table.ts'

export interface MethodFamilyOptions {
  files?: FileMethodOptions
  http?: HttpMethodOptions
}

/** Every method beside `process/*`: files, http, environment. */
export function registerMethodFamilies(methods: MethodTable, options: MethodFamilyOptions = {}): void {
  registerFileMethods(methods, options.files)
  registerHttpMethods(methods, options.http)
}

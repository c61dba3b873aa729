import type { MethodTable } from './wire/method-table.ts'

/** Every method beside `process/*`: files, http, environment. */
export function registerMethodFamilies(_methods: MethodTable): void {}

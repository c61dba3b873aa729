import type { GatehouseApi } from '../preload/api.ts'

declare global {
  interface Window {
    /** What the preload gives the page. */
    readonly gatehouse: GatehouseApi
  }
}

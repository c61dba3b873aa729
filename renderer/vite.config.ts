import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  plugins: [react()],
  build: {
    target: 'chrome114',
    outDir: '../out/renderer',
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    // Everything is a file of its own: the content policy allows no data: scripts or styles.
    assetsInlineLimit: 0,
    // Read from the disk, never over a network: one file is no fault.
    chunkSizeWarningLimit: 4_000,
  },
})

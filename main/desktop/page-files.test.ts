import { expect, test } from 'vitest'
import { resolvePageFile } from './page-files.ts'

test('a file below the folder is found with its type', () => {
  expect(resolvePageFile('/srv/page', 'app://gatehouse/assets/entry.js')).toEqual({
    path: '/srv/page/assets/entry.js',
    contentType: 'text/javascript; charset=utf-8',
  })
})

test('dots that the address parser itself takes away leave a path inside the folder', () => {
  expect(resolvePageFile('/srv/page', 'app://gatehouse/%2e%2e/secret.json')?.path).toBe('/srv/page/secret.json')
})

test.each([
  'app://gatehouse/assets/..%2f..%2fsecret.json',
  'app://gatehouse/assets\\..\\secret.json',
  'app://gatehouse/%5c..%5csecret.json',
  'app://gatehouse/entry.js%00.html',
  'app://gatehouse/C:/secret.json',
  'app://gatehouse/%E0%A4%A.js',
  'app://gatehouse/main.cjs',
  'app://gatehouse/',
])('%s names no file of the page', (address) => {
  expect(resolvePageFile('/srv/page', address)).toBeNull()
})

import { expect, test } from 'vitest'
import { connection, NOON_MS } from '../testing/view-fixtures.ts'
import { connectionsAsCsv } from './connection-csv.ts'

test('a row has every column; quotes, commas and line breaks survive', () => {
  const csv = connectionsAsCsv([
    connection({ openedAtMs: NOON_MS, closedAtMs: NOON_MS + 5, command: 'sh -c "a, b\n"', ruleText: null }),
  ])
  expect(csv).toBe(
    'opened_at,verdict,host,port,protocol,method,address,process,pid,session,rule,reason,bytes_in,bytes_out,duration_ms,count\r\n' +
      '2026-03-14T09:30:00.000Z,blocked,registry.example.org,443,https,CONNECT,,"sh -c ""a, b\n""",4121,fix flaky test,,not_allowed,0,0,5,1\r\n',
  )
})

test.each(['=1+1', '+cmd', '-2', '@SUM(A1)'])('%s is not read as a formula', (title) => {
  expect(connectionsAsCsv([connection({ sessionTitle: title })])).toContain(`,'${title},`)
})

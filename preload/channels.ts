/**
 * The names the window may use. The records below must list every channel of the contract and
 * nothing else: the compiler refuses a missing or an extra name.
 */
import type { EventChannel, InvokeChannel } from './api.ts'

const invokeNames: Record<InvokeChannel, true> = {
  'feed.snapshot': true,
  'approvals.decide': true,
  'approvals.preview': true,
  'processes.read': true,
  'processes.write': true,
  'processes.endInput': true,
  'processes.signal': true,
  'processes.members': true,
  'processes.resize': true,
  'processes.attach': true,
  'processes.save': true,
  'egress.decide': true,
  'egress.undo': true,
  'egress.preview': true,
  'egress.saveExport': true,
  'rules.remove': true,
  'rules.add': true,
  'rules.validate': true,
  'rules.check': true,
  'rules.preview': true,
  'rules.importSources': true,
  'rules.importPreview': true,
  'rules.import': true,
  'projects.list': true,
  'projects.trust': true,
  'settings.set': true,
  'sidecars.restart': true,
  'sidecars.diagnostics': true,
  'threads.call': true,
  'sessions.interrupt': true,
  'audit.page': true,
  'agents.list': true,
  'clipboard.write': true,
  'shell.openExternal': true,
}
const eventNames: Record<EventChannel, true> = { 'feed.batch': true, 'threads.news': true, navigate: true }

export function isInvokeChannel(name: unknown): name is InvokeChannel {
  return typeof name === 'string' && Object.hasOwn(invokeNames, name)
}

export function isEventChannel(name: unknown): name is EventChannel {
  return typeof name === 'string' && Object.hasOwn(eventNames, name)
}

/** Channel on which main hands over a process's output port: `{processId, token}` with one port. */
export const OUTPUT_PORT_CHANNEL = 'gatehouse.output'

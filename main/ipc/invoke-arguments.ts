import type { InvokeChannel, Invokes } from '../../preload/api.ts'
import { integer, literal, type Decoder } from '../../sidecars/protocol/decode.ts'
import { boundedString, intentArguments, name, text, tuple } from '../intent-arguments.ts'

/** 100,000 connections in the wordiest of the formats. */
const LONGEST_EXPORT = 256 * 1024 * 1024

/** What each channel of the window accepts: the host's, and those that only a desktop can answer. */
export const invokeArguments: { [C in InvokeChannel]: Decoder<Invokes[C]['args']> } = {
  ...intentArguments,
  'processes.attach': tuple(name, integer(0), name),
  'processes.save': tuple(name, literal('raw', 'text')),
  'egress.saveExport': tuple(name, boundedString(LONGEST_EXPORT)),
  'clipboard.write': tuple(text),
  'shell.openExternal': tuple(name),
}

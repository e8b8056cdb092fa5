/* Delivers one message to a rule's receiver. Used by tellrules.ts and by the test of alerts. */
import { toJson } from '../../engine/base/printjson.js'
import { deliverTo, messageId } from '../../shell/deliverto.js'
import type { Sent } from '../../shell/send.js'
import type { Message } from './alerttext.js'
import type { NamedRule } from './telling.js'

/**
 * Never throws. The same news to the same rule has the same id. A receiver recognizes a repeat, which happens if the
 * answer was lost or the process died before it could record it.
 */
export const deliver = (
  { id, rule }: NamedRule,
  { body, news }: Message,
  how: Parameters<typeof deliverTo>[2],
): Promise<Sent> => deliverTo(rule, { name: messageId(id, news), body: toJson(body) }, how)

/* Brings one message to whom a rule tells, within a time of its own. Used by alerts/work.ts and by the test of alerts. */

import { toJson } from '../../engine/base/printjson.js'
import { callCommand, type ProgramPlace } from './alertcommand.js'
import { type AlertMessage, messageName } from './message.js'
import type { Persistence, Sent } from './send.js'
import type { AlertRule } from './settings.js'
import type { NamedRule } from './telling.js'
import { postWebhook } from './webhook.js'

export interface Delivering extends Persistence {
  /** Values that no program and no line may hold. */
  readonly secrets: readonly string[]
  readonly programs: ProgramPlace
}

/** Never throws. */
export function deliver({ id, rule }: NamedRule, message: AlertMessage, how: Delivering): Promise<Sent> {
  const body = toJson(message)
  const { command, webhook, secret } = rule
  if (webhook !== undefined)
    return postWebhook(
      { url: webhook.reveal(), key: secret?.reveal(), name: messageName(id, message), body },
      how,
    )
  return callCommand({ command: command ?? [], input: body, limitMs: how.budgetMs, ...how })
}

/** What people call a rule: its place, and never its address. */
export const ruleName = ({ place, rule }: { readonly place: number; readonly rule: AlertRule }): string =>
  `alerts.rules[${place}] (${rule.webhook === undefined ? 'command' : 'webhook'})`

/* The body of an alert, and its name. Used by alerts/work.ts, and by the test message of `check --alerts`. */
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { headline, type Speaker } from './alerttext.js'
import { type KeptIncident, type ToldIncident, toldIncident } from './openincidents.js'
import type { AlertSettings } from './settings.js'

/** The body of a message. */
export interface AlertMessage {
  readonly type: 'opened' | 'resolved'
  /** One line, for chats. */
  readonly text: string
  readonly incidents: readonly ToldIncident[]
  readonly run_id: string | null
  readonly job: string | null
  /** Its address without the password. */
  readonly warehouse: string
  /** Which installation tells it. */
  readonly name: string
}

/** `alerts.name`, or what this machine is called. */
export const installationOf = ({ name }: Pick<AlertSettings, 'name'>): string => name ?? hostname()

/** Which run tells it, and of which warehouse. */
export interface Teller extends Speaker {
  readonly runId: string | null
  readonly job: string | null
  readonly warehouse: string
}

export function messageOf(
  type: AlertMessage['type'],
  rows: readonly KeptIncident[],
  { runId, job, warehouse, ...speaker }: Teller,
): AlertMessage {
  const incidents = rows.map(toldIncident)
  const text = headline(type, incidents, speaker)
  return { type, text, incidents, run_id: runId, job, warehouse, name: speaker.name }
}

/**
 * The name of a message (webhook-id): the same for the same news to the same rule, so that whoever gets it again, because
 * the answer was lost or the process died before it could note it, knows it again.
 */
export function messageName(ruleId: string, { type, incidents, warehouse }: AlertMessage): string {
  const news = incidents.map(({ kind, tenant_id, resource, since }) => [
    kind,
    String(tenant_id),
    resource,
    since,
  ])
  const text = JSON.stringify([ruleId, warehouse, type, news.sort()])
  return `msg_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}

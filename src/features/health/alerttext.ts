/* Every sentence that alerts send, and the body around them. Used by incidents.ts, tellrules.ts and testalerts.ts. */

import { hostname } from 'node:os'
import { visible } from '../../engine/base/escape.js'
import { atMinute, plural } from '../../engine/base/format.js'
import { toJson } from '../../engine/base/printjson.js'
import type { AlertKind, AlertSettings } from './alertsettings.js'
import type { Incident } from './incident.js'
import { toldIncident } from './openincidents.js'
import { listName } from './quietlists.js'
import { workersAdvice } from './workerhealth.js'

/* The body of an alert, and its id. */

/** The body of a message. */
export interface AlertMessage {
  readonly type: 'opened' | 'resolved'
  /** One line, for chats. */
  readonly text: string
  readonly incidents: readonly Incident[]
  /** How many incidents it is also about, without a place in it; absent if it names all. */
  readonly more?: number | undefined
  readonly run_id: string | null
  readonly job: string | null
  /** Its address without the password. */
  readonly warehouse: string
  /** Which installation sends it. */
  readonly name: string
}

/** `alerts.name`, or this machine's hostname. */
export const installationOf = ({ name }: Pick<AlertSettings, 'name'>): string => name ?? hostname()

/** Which run sends it, and about which warehouse. */
export interface Teller extends Speaker {
  readonly runId: string | null
  readonly job: string | null
  readonly warehouse: string
}

/** A message, and what it is about, in a form that depends on nothing else. */
export interface Message {
  readonly body: AlertMessage
  readonly news: string
}

/** How much of one sentence about an incident is sent. */
const mostOfSentence = 500
/** How many bytes the named incidents may take: chats refuse longer messages, and then nobody hears of anything. */
const mostBytes = 12_000

const cut = (text: string): string =>
  text.length > mostOfSentence ? `${text.slice(0, mostOfSentence)} …` : text

/** The first incidents, as many as a message may name; at least one. */
function fitting(all: readonly Incident[]): readonly Incident[] {
  let bytes = 0
  const tooMany = all.findIndex((incident, place) => {
    bytes += Buffer.byteLength(toJson(incident))
    return place > 0 && bytes > mostBytes
  })
  return tooMany < 0 ? all : all.slice(0, tooMany)
}

export function messageOf(
  type: AlertMessage['type'],
  rows: readonly Incident[],
  { runId, job, warehouse, ...speaker }: Teller,
): Message {
  const all = rows.map(toldIncident).map((told) => ({
    ...told,
    message: cut(told.message),
    advice: cut(told.advice),
  }))
  const incidents = fitting(all)
  const more = all.length - incidents.length
  const text = headline(type, all, speaker)
  const about = all.map(({ kind, tenant_id, resource, since }) => [kind, String(tenant_id), resource, since])
  return {
    body: {
      type,
      text,
      incidents,
      more: more > 0 ? more : undefined,
      run_id: runId,
      job,
      warehouse,
      name: speaker.name,
    },
    news: JSON.stringify([warehouse, type, about.sort()]),
  }
}

/** What to do about an incident. */
export function adviceOf(
  kind: AlertKind,
  { tenant_id: tenantId, resource }: Pick<Incident, 'tenant_id' | 'resource'>,
): string {
  const named = `--tenant ${tenantId} --resource ${resource}`
  switch (kind) {
    case 'failed':
      return 'The next run tries again. Type shopsync check to find out what is wrong'
    case 'unproven':
      return `The next run checks again. If it persists, type shopsync reconcile ${named}`
    case 'stale':
      return `Check that cron or shopsync schedule is still running; type shopsync sync ${named}`
    case 'deletes_unchecked':
      return `Check that the nightly job is still running; type shopsync reconcile ${named}`
    case 'revoked':
      return `Ask its owner to grant access again, add it to sync.exceptTenants, or type shopsync forget --tenant ${tenantId}`
    case 'drift':
      return 'Nothing is lost: the fields are in _extra. See the table sync_drift; resources.NAME.columns gives a field its own column'
    case 'quarantine':
      return `Type shopsync quarantine list ${tenantId === null ? `--resource ${resource}` : named}`
    case 'events':
      return resource === null
        ? 'Type shopsync events list --state waiting; docs/runbook.md tells you what to do'
        : `Type shopsync events list ${named}`
    case 'behind_target':
      return 'Type shopsync plan to see what the rate limit allows; docs/scale.md lists the options'
    case 'quiet':
      return 'Compare with the source: is the shop closed, or does the API serve old data? docs/operations.md, Alerts'
    case 'workers':
      return workersAdvice
    default:
      return kind satisfies never
  }
}

/** One line: which cursor, and what is wrong. */
export function cursorMessage(
  { tenant_id, resource }: Pick<Incident, 'tenant_id' | 'resource'>,
  found: string | null,
): string {
  const words = (found ?? 'no reason given').replaceAll(/\s*\n\s*/g, ' ')
  return tenant_id === null ? `${resource}: ${words}` : `tenant ${tenant_id}, ${resource}: ${words}`
}

const shownIncidents = 3

/** Which installation sends it, and the names of its tenants. */
interface Speaker {
  readonly name: string
  /** `report.tenantNames`. */
  readonly tenantNames?: Readonly<Record<string, string>> | undefined
}

/** Someone reading a chat has no use for a request's address; the log and the incident's document keep it. */
const withoutRequests = (text: string): string =>
  text
    .replaceAll(/GET \/[^\s,:)]*: /g, '')
    .replaceAll(/GET \/[^\s,:)]*/g, 'the API')
    .replaceAll(/https?:\/\/([^\s/?#,)]+)(?:[/?#][^\s,)]*)?/g, '$1')

/** Slack treats these three as markup: a field name at the source could notify everyone or hide a link. */
const escapedForChats = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function placeOf({ tenant_id, resource }: Incident, names: Speaker['tenantNames'] = {}): string {
  if (tenant_id === null) return resource ?? 'the whole run'
  const name = names[String(tenant_id)]
  const shop = name === undefined ? `tenant ${tenant_id}` : `${name} (tenant ${tenant_id})`
  return resource === null ? shop : `${shop}, ${resource}`
}

/** What, which shop, since when, and what to do. For a resolved incident, only the first three. */
function sentenceOf(type: 'opened' | 'resolved', incident: Incident, names: Speaker['tenantNames']): string {
  const found = withoutRequests(incident.message.replace(/^tenant \S+, [^:\s]+: /, ''))
  const isQuiet = incident.kind === 'quiet'
  const what = isQuiet
    ? `${listName(incident, names)}: ${found}`
    : `${placeOf(incident, names)}: ${incident.kind.replaceAll('_', ' ')} since ${atMinute(incident.since)} UTC: ${found}`
  return type === 'opened' && incident.advice !== '' ? `${what}. ${withoutRequests(incident.advice)}` : what
}

/** The line a chat shows: what opened or was resolved, and in which installation. */
function headline(
  type: 'opened' | 'resolved',
  incidents: readonly Incident[],
  { name, tenantNames }: Speaker,
): string {
  const words = type === 'opened' ? 'needs attention' : 'over'
  const shown = incidents.slice(0, shownIncidents).map((incident) => sentenceOf(type, incident, tenantNames))
  const more = incidents.length - shownIncidents
  const rest = more > 0 ? ` … and ${plural(more, 'more incident')}` : ''
  const line = `shopsync on ${name}: ${words}: ${shown.join(' | ')}${rest}`
  return escapedForChats(visible(line.replaceAll(/\s+/g, ' ')))
}

/** The text of the test message. */
export const testText = ({ name }: Speaker): string =>
  escapedForChats(`shopsync on ${name}: this is a test of its alerts; nothing needs attention`)

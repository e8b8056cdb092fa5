/** What a script does to one event before it is sent. Used by webhooks.ts. */
import { type Micros, parseInstant, printInstant } from '../instant.js'
import { decode, encode } from '../records/json.js'
import type { Action } from '../records/resources.js'
import type { EventAction } from './rules.js'

/** An event as it will be sent. */
export interface OutgoingEvent {
  readonly name: string
  readonly type: string
  readonly tenant: number
  /** The record as the API prints it, as JSON. undefined in an event about a deletion. */
  readonly data: string | undefined
  readonly secret: string
}

interface EventCircumstances {
  readonly action: Action
  readonly now: Micros
  /** Prints a record's timestamps as the API does. */
  readonly print: (record: { readonly text: string }) => string
}

type Of<K extends EventAction['kind']> = Extract<EventAction, { kind: K }>

const HOUR = 3_600_000_000n
/** No sandbox has a tenant with this id. */
const STRANGER = 999_999

/** Applies the actions that change the event itself, one after the other. */
export const changedEvent = (
  event: OutgoingEvent,
  actions: readonly EventAction[],
  circumstances: EventCircumstances,
): OutgoingEvent => actions.reduce((last, action) => changed(last, action, circumstances), event)

function changed(
  event: OutgoingEvent,
  action: EventAction,
  circumstances: EventCircumstances,
): OutgoingEvent {
  const { now } = circumstances
  switch (action.kind) {
    case 'wrongSecret':
      return { ...event, secret: `not ${event.secret}` }
    case 'unknownType':
      return renamed(event, action, circumstances)
    case 'otherTenant':
      return { ...event, tenant: action.tenant ?? STRANGER }
    case 'future':
      return dated(event, () => now + BigInt(action.hours ?? 3) * HOUR, circumstances)
    case 'forged':
      return dated(event, (at) => at + BigInt(action.ms ?? 1000) * 1000n, circumstances)
    case 'drop':
    case 'twice':
    case 'delay':
    case 'before':
      return event
  }
}

function renamed(event: OutgoingEvent, wanted: Of<'unknownType'>, { action }: EventCircumstances) {
  const type = wanted.type ?? 'Estimate'
  const singular = type.replace(/(?<=.)[A-Z]/g, '_$&').toLowerCase()
  return { ...event, type, name: `${singular}.${action}` }
}

/** Gives the record in the event a different `updated_at`. An event about a deletion has no record. */
function dated(
  event: OutgoingEvent,
  instant: (updated: Micros) => Micros,
  { now, print }: EventCircumstances,
): OutgoingEvent {
  if (event.data === undefined) return event
  const record = decode(event.data)
  const updated_at = printInstant(instant(parseInstant(String(record.updated_at)) ?? now))
  return { ...event, data: print({ text: encode({ ...record, updated_at }) }) }
}

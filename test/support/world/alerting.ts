/**
 * Runs of the sync on a sandbox, each followed by its alerts, as the command line does it: to real receivers, on a
 * clock that both share. Doesn't use vitest.
 */

import { tmpdir } from 'node:os'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { Secret } from '../../../src/engine/config/secret.js'
import type { Writer } from '../../../src/engine/warehouse/warehouse.js'
import { type AlertKind, type AlertRule, alertKinds } from '../../../src/features/health/alertsettings.js'
import type { AlertMessage } from '../../../src/features/health/alerttext.js'
import type { EndedRun } from '../../../src/features/health/incidentchanges.js'
import { type AlertOptions, tellAfter } from '../../../src/features/health/tellrules.js'
import { isOfTheRun } from '../../../src/features/health/wholetrouble.js'
import { type Sandbox, template } from '../../../src/sandbox/index.js'
import { type RunOptions, sync } from '../harness/runs.js'
import { httpServer } from '../harness/server.js'
import { SkippingClock } from './clocks.js'

export const signingKey = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

export type Receiver = Awaited<ReturnType<typeof receiver>>

/** A webhook that stores what it gets. */
export async function receiver() {
  const got: { readonly headers: Record<string, string>; readonly body: string }[] = []
  let taken = 0
  const { url } = await httpServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      got.push({ headers: request.headers as Record<string, string>, body })
      self.heard()
      if (self.status === 0) return
      response.statusCode = self.status
      response.end()
    })
  })
  const self = {
    url: `${url}/hooks/hidden-token`,
    got,
    /** Its answer; 0: none at all. */
    status: 200,
    /** Called with each message. */
    heard: (): void => {},
    /** The messages since the last call. */
    take: (): AlertMessage[] => {
      const fresh = got.slice(taken).map(({ body }) => JSON.parse(body) as AlertMessage)
      taken = got.length
      return fresh
    },
  }
  return self
}

const usual: AlertRule = {
  on: alertKinds,
  after: 0,
  command: undefined,
  webhook: undefined,
  secret: undefined,
}

export const ruleOf = (
  url: string,
  { key, ...rule }: { on?: readonly AlertKind[]; after?: number; key?: string } = {},
): AlertRule => ({
  ...usual,
  ...rule,
  webhook: new Secret(url),
  secret: key === undefined ? undefined : new Secret(key),
})

/** A rule that calls a program. */
export const callOf = (...command: string[]): AlertRule => ({ ...usual, command })

/** A message as one line: `opened: failed 101/notes, failed 101/payments`. */
export const lineOf = ({ type, incidents }: AlertMessage): string =>
  `${type}: ${incidents
    .map(
      ({ kind, tenant_id, resource }) =>
        `${kind} ${tenant_id ?? 'run'}${resource === null ? '' : `/${resource}`}`,
    )
    .sort()
    .join(', ')}`

const day = 86_400_000

export class AlertingWorld {
  readonly clock = new SkippingClock()
  readonly notices: [string, Record<string, unknown>][] = []
  settings: Partial<AlertOptions> = {}

  constructor(
    readonly sandbox: Sandbox,
    readonly warehouse: Writer,
    public rules: readonly AlertRule[],
  ) {}

  /** Tenants with a note and a payment each, and a receiver of everything. */
  static async of(
    sandbox: Sandbox,
    warehouse: Writer,
    tenants: readonly number[] = [101, 102],
  ): Promise<AlertingWorld & { hook: Receiver }> {
    sandbox.reset()
    for (const tenant of tenants) {
      sandbox.store.addTenant({ id: tenant })
      for (const resource of ['notes', 'payments'])
        sandbox.store.put(tenant, resource, template(resource, tenant, '2026-01-01T00:00:00Z'))
    }
    const hook = await receiver()
    return Object.assign(new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url, { key: signingKey })]), {
      hook,
    })
  }

  get options(): AlertOptions {
    return {
      clock: this.clock,
      tenants: null,
      exceptTenants: [],
      resources: ['notes', 'payments'],
      staleAfterMs: day,
      deletesUncheckedAfterMs: 3 * day,
      lateAfterMs: 900_000,
      keepMs: 90 * day,
      alerts: { rules: this.rules, heartbeat: undefined },
      label: 'sqlite:./warehouse.db',
      warehouse: async () => this.warehouse,
      secrets: ['hidden-token', signingKey],
      programs: { environment: process.env, folder: tmpdir() },
      notice: (message, fields) => void this.notices.push([message, fields]),
      budgetMs: 3000,
      ...this.settings,
    }
  }

  pass(days: number): Promise<void> {
    return this.clock.sleep(days * day)
  }

  /** One run and its alerts; and the error, if it threw one. */
  async run(options: RunOptions = {}, sandbox: Pick<Sandbox, 'url' | 'partnerId' | 'secret'> = this.sandbox) {
    const startedAt = fromMicros(this.clock.nowMicros())
    const request = { resources: ['notes', 'payments'], clock: this.clock, ...options }
    try {
      const report = await sync(sandbox, this.warehouse, request)
      await this.tell({ runId: report.run_id, job: null, startedAt, reports: [report] })
      return undefined
    } catch (error) {
      if (isOfTheRun(error)) await this.tell({ runId: null, job: null, startedAt, reports: [], error })
      return error
    }
  }

  tell(run: EndedRun): Promise<void> {
    return tellAfter(this.options, run)
  }

  /** What the check of a listener would tell. */
  look(): Promise<void> {
    const startedAt = fromMicros(this.clock.nowMicros())
    return this.tell({ runId: null, job: null, startedAt, reports: [], isLook: true })
  }
}

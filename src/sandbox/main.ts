/** `shopsync sandbox`: starts a sandbox, prints a greeting, and runs until it is stopped. Used by the command line. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { count } from '../engine/base/format.js'
import { createSandbox, type Sandbox, type SandboxOptions } from './sandbox.js'
import type { Rule } from './script/rules.js'
import { checkRules } from './script/rules.js'

type Passed = Pick<
  SandboxOptions,
  | 'seed'
  | 'until'
  | 'scale'
  | 'host'
  | 'rate'
  | 'timestamps'
  | 'gzip'
  | 'secret'
  | 'partnerId'
  | 'webhooks'
  | 'lazy'
>

export interface RunSandboxOptions extends Passed {
  /** Default 8080. */
  readonly port?: number | undefined
  /** The number of tenants; default 3. */
  readonly tenants?: number
  /** Whether the shops keep working while the sandbox runs. */
  readonly live?: boolean
  /** Milliseconds between two changes of live shops; default 2000. */
  readonly liveEveryMs?: number
  /** The ids of tenants that only grant reading. */
  readonly readOnlyTenants?: readonly number[]
  /** A JSON file with a script of faults and motion. */
  readonly faultsFile?: string | undefined
  readonly signal: AbortSignal
  readonly print: (line: string) => void
  /** Receives the facts instead of printed lines. */
  readonly announce?: ((facts: SandboxFacts) => Promise<void>) | undefined
}

/** How to reach a sandbox, for programs. */
interface SandboxFacts {
  readonly url: string
  readonly partner_id: string
  readonly secret: string
  readonly tenants: readonly (number | bigint)[]
  /** A configuration to sync from it. */
  readonly config: object
}

/** Starts the sandbox, prints how to reach it, and runs until the signal fires. Rejects if the start fails. */
export async function runSandbox(options: RunSandboxOptions): Promise<void> {
  const { signal, print, announce, live = false, liveEveryMs = 2000, faultsFile, port = 8080 } = options
  const script = faultsFile === undefined ? [] : readScript(faultsFile)
  const sandbox = await createSandbox({ ...options, port, script })
  try {
    for (const id of options.readOnlyTenants ?? []) sandbox.store.grant(id, false)
    if (announce) await announce(factsOf(sandbox))
    else for (const line of greeting(sandbox, options)) print(line)
    if (live) await keepWorking(sandbox, liveEveryMs, signal)
    else if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await sandbox.close()
  }
}

/** The rules of a script file, or an error that names the file and the wrong key. */
export function readScript(file: string): readonly Rule[] {
  try {
    return checkRules(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`cannot use the faults file ${file}: ${reason}`)
  }
}

async function keepWorking(sandbox: Sandbox, everyMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    if (!signal.aborted) sandbox.work(1)
  }
}

const configOf = (sandbox: Sandbox): object => ({
  api: { baseUrl: sandbox.url, partnerId: sandbox.partnerId, secret: sandbox.secret },
  warehouse: { url: 'sqlite:./warehouse.db' },
})

const factsOf = (sandbox: Sandbox): SandboxFacts => ({
  url: sandbox.url,
  partner_id: sandbox.partnerId,
  secret: sandbox.secret,
  tenants: sandbox.store.granted.map(({ id }) => id),
  config: configOf(sandbox),
})

function greeting(sandbox: Sandbox, { rate, until, webhooks, live }: RunSandboxOptions): string[] {
  const tenants = sandbox.store.granted.map(({ id, writable }) => (writable ? `${id}` : `${id} (read only)`))
  return [
    `sandbox     ${sandbox.url}`,
    `partner id  ${sandbox.partnerId}`,
    `secret      ${sandbox.secret}`,
    ...(until === undefined ? [] : [`data until  ${until}`]),
    `tenants     ${tenants.join(', ')}`,
    ...(webhooks?.hooks ?? []).map(({ url }) => `events to   ${url}`),
    ...(live === true
      ? ['live        what changes is only in memory: a restart shows the records as they are now']
      : []),
    ...(rate?.limit === undefined ? [] : [`rate limit  ${count(rate.limit)} requests a minute`]),
    '',
    'config.json to sync from it:',
    JSON.stringify(configOf(sandbox), null, 2),
    '',
    'Stop with Ctrl-C.',
  ]
}

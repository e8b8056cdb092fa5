import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Stop, wordsOf } from '../../engine/base/errors.js'
import type { WebhookOptions } from '../../sandbox/index.js'
import type { Command } from '../../shell/command.js'
import { listOf, wholeNumber } from '../../shell/flags.js'

/* The flags of `shopsync sandbox` that send events. */

const eventFlags = [
  {
    flags: '--webhook <url>',
    description: 'send events to this address (https, or http on this machine); may be repeated',
    repeatable: true,
  },
  {
    flags: '--webhook-events <names>',
    description: 'send only these events, separated by commas (default: all 36)',
  },
  { flags: '--events-drop <share>', description: 'lose this share of the events, from 0 to 1 (default: 0)' },
  { flags: '--events-twice <share>', description: 'send this share of the events twice (default: 0)' },
  {
    flags: '--events-delay <ms>',
    description:
      'delay each event by a random time up to this many milliseconds, so they overtake each other (default: 0)',
  },
  {
    flags: '--events-retry <n>',
    description:
      'resend an event that is not answered with 2xx, up to n times, after growing pauses (default: 0)',
  },
]

const longestDelay = 86_400_000

/** undefined if no address is given. */
async function webhooksOf(options: Readonly<Record<string, unknown>>): Promise<WebhookOptions | undefined> {
  const urls = listOf(options['webhook'])
  const drop = shareOf('--events-drop', options['eventsDrop'])
  const twice = shareOf('--events-twice', options['eventsTwice'])
  const delayMs = wholeNumber('--events-delay', options['eventsDelay'], { to: longestDelay, example: 5000 })
  const retry = wholeNumber('--events-retry', options['eventsRetry'], { to: 1000, example: 5 })
  const isAsked = [options['webhookEvents'], drop, twice, delayMs, retry].some((value) => value !== undefined)
  if (urls.length === 0 && isAsked)
    throw new Stop('Found a flag for events but no --webhook, expected an address to send them to', {
      exitCode: 2,
      hint: 'Type for example --webhook http://127.0.0.1:8787/webhooks',
    })
  if (urls.length === 0) return undefined
  const events = await namesOf(options['webhookEvents'])
  await checkAddresses(urls)
  return {
    hooks: urls.map((url) => ({ url, events })),
    drop,
    twice,
    delayMs,
    retry,
  }
}

function shareOf(flag: string, value: unknown): number | undefined {
  if (value === undefined) return undefined
  const text = String(value)
  const share = /^(\d+(\.\d+)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN
  if (share <= 1) return share
  throw new Stop(`Found ${flag} "${text}", expected a number from 0 to 1`, {
    exitCode: 2,
    hint: `Type for example ${flag} 0.05`,
  })
}

async function namesOf(value: unknown): Promise<readonly string[] | undefined> {
  if (value === undefined) return undefined
  const { EVENT_NAMES } = await import('../../sandbox/index.js')
  const names = String(value)
    .split(',')
    .map((name) => name.trim())
  const wrong = names.find((name) => !EVENT_NAMES.includes(name))
  if (wrong === undefined) return names
  throw new Stop(`Found --webhook-events "${wrong}", expected names of events`, {
    exitCode: 2,
    hint: `Expected one of ${EVENT_NAMES.join(', ')}`,
  })
}

async function checkAddresses(urls: readonly string[]): Promise<void> {
  const { isDeliverable, MOST_WEBHOOKS } = await import('../../sandbox/index.js')
  const wrong = urls.find((url) => !isDeliverable(url))
  if (wrong !== undefined)
    throw new Stop(`Found --webhook "${wrong}", expected an https address, or an http one of this machine`, {
      exitCode: 2,
      hint: 'Type for example --webhook http://127.0.0.1:8787/webhooks',
    })
  if (urls.length > MOST_WEBHOOKS)
    throw new Stop(`Found --webhook ${urls.length} times, expected it at most ${MOST_WEBHOOKS} times`, {
      exitCode: 2,
    })
}

/** In the working directory. */
const anchorFile = 'shopsync-sandbox.json'

const usualCount = 3
const usualSeed = 1

/** The data of as many is made before the first request. */
const fewTenants = 10

export const sandboxCommand: Command = {
  name: 'sandbox',
  group: 'Try it',
  summary: 'a local server of the whole API with generated data',
  help: `
Prints its address, its credentials and a configuration to sync from it: as one document with --json, nothing with
--quiet. Runs until you stop it (Ctrl-C).
A restart in the same folder shows the same records: the data ends when a sandbox with this seed was first started there.
${anchorFile} keeps that instant. Delete the file for newer data. All records are in memory (docs/sandbox.md).
A JSON file can script faults and changes (docs/dev/sandbox.md). With --webhook it announces changes as the source does.`,
  examples: [
    ['shopsync sandbox --port 8080 --tenants 3 --live', 'three businesses that keep working'],
    [
      'shopsync sandbox --faults faults.json --rate-limit 300',
      'with faults, and refusals beyond 300 requests a minute',
    ],
    [
      'shopsync sandbox --live --webhook http://127.0.0.1:8787/webhooks --events-drop 0.05 --events-delay 60000',
      'announces changes to shopsync listen: one event in twenty is lost, the others arrive late and shuffled',
    ],
  ],
  options: [
    { flags: '--port <n>', description: 'port to listen on, 0 for a free one (default: 8080)' },
    { flags: '--tenants <n>', description: `how many repair businesses (default: ${usualCount})` },
    {
      flags: '--size <size>',
      description: 'how much data each has; small: a tenth, for many tenants (default: usual)',
      choices: ['small', 'usual'],
    },
    { flags: '--seed <n>', description: `the same seed gives the same data (default: ${usualSeed})` },
    {
      flags: '--read-only-tenant <id>',
      description: 'this tenant grants only read access; may be repeated',
      repeatable: true,
    },
    {
      flags: '--rate-limit <n>',
      description: 'requests per minute; more are answered with 429 (default: 1000000)',
    },
    { flags: '--live', description: 'the shops keep working while it runs' },
    { flags: '--faults <file>', description: 'script of faults and changes' },
    ...eventFlags,
  ],
  run: async ({ options, out, signals, io }) => {
    const port = wholeNumber('--port', options.port, { to: 65_535, example: 8080 })
    const tenants = wholeNumber('--tenants', options.tenants, { from: 1, to: 1000, example: 3 })
    const seed = wholeNumber('--seed', options.seed, { to: 4_294_967_295, example: 1 })
    const limit = wholeNumber('--rate-limit', options.rateLimit, { from: 1, example: 300 })
    const last = 100 + (tenants ?? usualCount)
    const readOnlyTenants = listOf(options.readOnlyTenant).flatMap(
      (id) => wholeNumber('--read-only-tenant', id, { from: 101, to: last, example: 101 }) ?? [],
    )
    const [{ readScript, runSandbox }, { resolve }] = await Promise.all([
      import('../../sandbox/main.js'),
      import('node:path'),
    ])
    const faultsFile =
      typeof options.faults === 'string' ? resolve(io.workingDirectory, options.faults) : undefined
    if (faultsFile !== undefined) checked(() => readScript(faultsFile))
    const webhooks = await webhooksOf(options)
    signals.expected = true
    try {
      await runSandbox({
        port,
        tenants: tenants ?? usualCount,
        readOnlyTenants,
        rate: limit !== undefined ? { limit } : undefined,
        seed: seed ?? usualSeed,
        until: anchorOf(io.workingDirectory, seed ?? usualSeed, new Date().toISOString()),
        scale: options.size === 'small' ? 0.1 : undefined,
        // A hundred businesses take a minute: each when it is first asked for, and then compressed.
        lazy: (tenants ?? usualCount) > fewTenants,
        faultsFile,
        webhooks,
        live: options.live === true,
        signal: signals.signal,
        // --quiet silences the greeting: anyone who uses it knows the port, and the rest is in docs/sandbox.md.
        print: (line) => void (out.quiet || out.result(line)),
        announce: out.json ? (facts) => out.document(facts) : undefined,
      })
    } catch (error) {
      throw portTaken(error, port ?? 8080)
    }
    return 0
  },
}

function checked(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    const { message } = wordsOf(error)
    throw new Stop(message.charAt(0).toUpperCase() + message.slice(1), {
      exitCode: 2,
      hint: 'docs/dev/sandbox.md describes what such a file can contain',
    })
  }
}

function portTaken(error: unknown, port: number): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return error
  return new Stop(
    `Port ${port} ${code === 'EACCES' ? 'is not available to this user' : 'is in use by another program'}`,
    {
      exitCode: 3,
      hint: 'Type shopsync sandbox --port 0 for a free one',
      cause: error,
    },
  )
}

/**
 * When the data of a seed ends: when a sandbox with this seed was first started in this folder. Without it, every
 * restart would move all records by the time that has passed: to a warehouse, a source whose whole past has changed.
 */
function anchorOf(folder: string, seed: number, now: string): string {
  const file = join(folder, anchorFile)
  const kept = read(file)
  const found = kept[seed]
  if (typeof found === 'string' && found <= now && !Number.isNaN(Date.parse(found))) return found
  try {
    writeFileSync(file, `${JSON.stringify({ ...kept, [seed]: now }, null, 2)}\n`)
  } catch {
    // In a folder that can't be written, a restart moves the data.
  }
  return now
}

function read(file: string): Readonly<Record<string, unknown>> {
  try {
    const kept: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return typeof kept === 'object' && kept !== null && !Array.isArray(kept) ? { ...kept } : {}
  } catch {
    return {}
  }
}

/** The examples in the help do what they say: each line that can run here is run as it is. */
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commands } from '../support/harness/declared.js'
import { blocksOf, commandsOf, plainWords } from '../support/harness/docs.js'
import { type Place, viewedPlace } from '../support/harness/place.js'
import { program } from '../support/harness/process.js'
import { filesIn } from '../support/harness/tree.js'

/** Which test runs a line that prompts, stays up, or needs something that isn't here. */
const elsewhere: Readonly<Record<string, string>> = {
  'shopsync demo': 'test/shell/commands.test.ts',
  'shopsync init': 'test/features/init/init.test.ts',
  'shopsync init --sandbox --yes': 'test/features/init/init.test.ts',
  'shopsync init --base-url https://api.example.com --partner-id 42 --secret-file key.txt --yes':
    'test/features/init/init.test.ts',
  'shopsync adopt': 'test/features/adopt/adopt.test.ts',
  'shopsync forget --tenant 101': 'test/transcripts/terminal.txt',
  'shopsync forget --tenant 101 --customer 5': 'test/transcripts/terminal.txt',
  "shopsync copy --to 'postgres://shopsync:${PGPASSWORD}@db.example.com/warehouse'":
    'test/features/copy/copycommand.test.ts',
  'shopsync copy --to postgres://localhost/warehouse --to-schema shopsync_new':
    'test/features/copy/copycommand.test.ts',
  'shopsync grant --role main_street --tenant 101': 'test/transcripts/grants.txt',
  'shopsync grant --role main_street --tenant 101 --tenant 102 --personal': 'test/transcripts/grants.txt',
  'shopsync revoke --role main_street': 'test/transcripts/grants.txt',
  'shopsync revoke --role main_street --tenant 102': 'test/transcripts/grants.txt',
  'shopsync run nightly --shard 0/8': 'test/features/jobs/shards.test.ts',
  'shopsync worker --parallel 4': 'test/features/worker/worker.test.ts',
  'shopsync worker --once': 'test/features/worker/worker.test.ts',
  'shopsync run nightly --whole': 'test/features/jobs/shards.test.ts',
  'shopsync schedule': 'test/features/schedule/scheduleprocess.test.ts',
  'curl --fail http://127.0.0.1:8788/ready': 'test/features/schedule/scheduleprocess.test.ts',
  'shopsync check --webhook-url https://hooks.example.com/webhooks': 'test/features/check/webhook.test.ts',
  'shopsync listen': 'test/features/listen/listenprocess.test.ts',
  'shopsync listen --host 0.0.0.0 --port 8443 --tls-cert fullchain.pem --tls-key privkey.pem':
    'test/features/listen/listenprocess.test.ts',
  'shopsync listen --no-ring': 'test/features/listen/listenprocess.test.ts',
  'shopsync sandbox --port 8080 --tenants 3 --live': 'test/package/lines.test.ts',
  'shopsync sandbox --faults faults.json --rate-limit 300': 'test/package/lines.test.ts',
  'shopsync completion zsh > "${fpath[1]}/_shopsync"': 'test/features/completion/completion.test.ts',
  'shopsync completion fish > ~/.config/fish/completions/shopsync.fish':
    'test/features/completion/completion.test.ts',
}

/** Exit codes other than 0, for lines that name something that a place with few records and three lists doesn't have. */
const exitCodes: Readonly<Record<string, number>> = {
  'shopsync check --alerts': 1,
  'shopsync events ring --tenant 101 --resource repair_orders': 2,
  // Of the lists that were never read, it can't tell what they hold of the customer.
  'shopsync forget --tenant 101 --customer 5 --dry-run': 1,
  'shopsync why repair_order_parts 90012': 1,
  'shopsync why repair_order_services 4711/812 --tenant 101': 1,
}

/** These only read, so they may run at the same time. The others take turns, the erasing ones last. */
const reads =
  /^(source|shopsync (plan|status|runs|why|check|verify|completion|dictionary|jobs|quarantine list|events|adopt --same-data$|forget .*--dry-run$))\b/
const erases = /^shopsync (forget|adopt)\b(?!.*--dry-run)/

let here: Place
beforeAll(async () => {
  here = await viewedPlace({ tenants: 2, repairOrders: 30 })
  here.configure({ sync: { resources: ['notes', 'customers', 'shops'] }, targets: { '*': 'PT6H' } })
  const bin = join(here.folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'shopsync'), `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`, {
    mode: 0o755,
  })
})
afterAll(() => here.remove())

async function ran(line: string): Promise<{ code: number | null; text: string }> {
  const shown = line
    .replace(/^(?:[\d*]+ +){5}/, '')
    .replace('/srv/shopsync', here.folder)
    .replace('/var/www', here.folder)
  const words = plainWords(shown)
  if (words) {
    const { code, stdout, stderr } = await here.run(...words)
    return { code, text: stderr + stdout }
  }
  const env = { PATH: `${join(here.folder, 'bin')}:/usr/bin:/bin`, API_SECRET: here.sandbox.secret }
  return new Promise((resolve) => {
    execFile('bash', ['-c', `exec 2>&1; ${shown}`], { cwd: here.folder, env }, (error, text) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), text }),
    )
  })
}

const lines = [...new Set(commands.flatMap(({ examples }) => examples.map(([line]) => line)))]
/** test/package/lines.test.ts runs what the pages show. */
const ofPages = new Set(['README.md', ...filesIn('docs', '.md')].flatMap(blocksOf).flatMap(commandsOf))
const runnable = lines.filter((line) => !(line in elsewhere) && !ofPages.has(line))

async function check(line: string): Promise<void> {
  const { code, text } = await ran(line)
  expect([line, text, code]).toEqual([line, text, exitCodes[line] ?? 0])
}

test('every command has an example, and no removed line has a reason left', () => {
  expect(commands.filter(({ examples }) => examples.length === 0)).toEqual([])
  for (const line of Object.keys(elsewhere)) expect(lines).toContain(line)
})

test('each line does what it says', { timeout: 120_000 }, async () => {
  const turns = runnable.filter((line) => !reads.test(line) && !erases.test(line))
  await check('shopsync sync')
  for (const line of turns) await check(line)
  await Promise.all(runnable.filter((line) => reads.test(line)).map(check))
  for (const line of runnable.filter((one) => erases.test(one) && !reads.test(one))) await check(line)
})

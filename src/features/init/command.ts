import { codeFromOutside, Stop } from '../../engine/base/errors.js'
import type { Command, Invocation } from '../../shell/command.js'
import type { Io } from '../../shell/io.js'
import type { Answers } from './initfiles.js'
import type { Way } from './words.js'

/** Where `shopsync sandbox` listens, and what it accepts. */
const sandbox = { baseUrl: 'http://127.0.0.1:8080', partnerId: '42', secret: 'sandbox-secret' }

export const initCommand: Command = {
  name: 'init',
  group: 'Set it up',
  summary: 'ask for address, partner and secret; write config.json and shopsync.env; test them',
  help: `
Writes into the working directory: config.json, and shopsync.env (mode 0600) with SHOPSYNC_API_SECRET. Every command
reads both automatically. Then prints crontab lines and a systemd unit, runs shopsync check, and tells you what to type
next. Existing files are left alone without --force (exit 2). With --print, it only prints how to run what is configured
here, as crontab lines, systemd units, a compose file, or manifests for Kubernetes: each job that has a schedule, at its
times in schedule.timeZone, shopsync listen if there is a section events, shopsync worker if there are schedule.shards.`,
  examples: [
    ['shopsync init', 'asks for what it needs'],
    ['shopsync init --sandbox --yes', 'for shopsync sandbox, without asking'],
    ['shopsync init --print systemd', 'the units for the configuration in this folder'],
    [
      'shopsync init --base-url https://api.example.com --partner-id 42 --secret-file key.txt --yes',
      'without asking',
    ],
  ],
  options: [
    { flags: '--base-url <url>', description: 'address of the API, such as https://api.example.com' },
    { flags: '--partner-id <id>', description: 'id of the API partner' },
    { flags: '--secret-file <file>', description: 'file that holds the secret and nothing else' },
    { flags: '--secret-stdin', description: 'read the secret from standard input' },
    {
      flags: '--warehouse <url>',
      description: 'sqlite:PATH or postgres://…; sqlite:./warehouse.db if it does not ask',
    },
    { flags: '--sandbox', description: 'for the local sandbox: shopsync sandbox' },
    { flags: '--yes', description: 'ask nothing' },
    { flags: '--force', description: 'overwrite existing files' },
    {
      flags: '--print <way>',
      description: 'print how to run it automatically, and write nothing',
      choices: ['crontab', 'systemd', 'compose', 'kubernetes'] satisfies Way[],
    },
  ],
  run: async (invocation) => {
    const [files, { examine }, { worstExit }, { checkText, checkTroubles, findingOf }, text, units] =
      await Promise.all([
        import('./initfiles.js'),
        import('../check/examine.js'),
        import('../check/trials.js'),
        import('../check/words.js'),
        import('./words.js'),
        import('./units.js'),
      ])
    if (invocation.options.print !== undefined) return printWay(invocation, text.ways)
    const { options, out, globals, io } = invocation
    const folder = io.workingDirectory
    files.refuseToOverwrite(folder, options.force === true)
    const answers = await answersOf(invocation)
    const written = files.writeFiles(
      folder,
      answers,
      options.sandbox === true ? files.sandboxReport : undefined,
    )
    await makeFolder(folder, answers.warehouse)
    out.print(`${text.wroteText(written)}\n`)
    const [config] = written
    const configured = { ...invocation, globals: { ...globals, config, envFile: undefined } }
    const { startOf } = await import('./start.js')
    const start = await startOf(configured)
    // The way to run it comes first: what was found has to be in sight when the command ends.
    out.print(`${text.ways.crontab.says}\n\n`)
    out.printAsIs(`${text.ways.crontab.asItIs(start)}\n\n`)
    out.print(`${text.scheduleSays}\n\n`)
    out.printAsIs(`${units.scheduleUnit(start)}\n\n`)
    out.print(`${text.otherWays}\n\n`)
    const trials = await examine(configured)
    const exitCode = worstExit(trials)
    out.print(`${checkText(trials, out.terminal)}\n`)
    out.complain(checkTroubles(trials))
    const next = text.nextStep(trials, { isSandbox: answers.baseUrl === sandbox.baseUrl })
    out.print(next)
    if (out.json)
      await out.document({
        files: written,
        checks: trials.map(findingOf),
        crontab: text.crontab(start),
        systemd: units.systemdUnits(start),
        compose: text.composeFile(start),
        next,
      })
    return exitCode
  },
}

/** Prints one way to run what is configured in this folder. */
async function printWay(invocation: Invocation, ways: typeof import('./words.js').ways): Promise<number> {
  const { startOf } = await import('./start.js')
  const { options, out } = invocation
  const way = options.print as Way
  const text = ways[way].asItIs(await startOf(invocation))
  if (out.json) await out.document({ [way]: text })
  else out.result(`${text}\n`)
  return 0
}

/** Where the warehouse is to be, if it is a file. */
async function makeFolder(folder: string, warehouse: string): Promise<void> {
  const [{ mkdir }, { dirname }, { inFolder }] = await Promise.all([
    import('node:fs/promises'),
    import('node:path'),
    import('../../engine/config/address.js'),
  ])
  const url = inFolder(warehouse, folder)
  if (url.startsWith('sqlite:')) await mkdir(dirname(url.slice('sqlite:'.length)), { recursive: true })
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** The values of the flags; for the rest, what the user types, or the defaults. */
async function answersOf({ options, signals, io }: Invocation): Promise<Answers> {
  const { baseUrlJudged, partnerIdJudged, warehouseJudged, ask, usualWarehouse } = await import(
    './questions.js'
  )
  const known: { -readonly [K in keyof Answers]?: string | undefined } = {
    ...(options.sandbox === true && sandbox),
    ...compact({
      baseUrl: textOf(options.baseUrl),
      partnerId: textOf(options.partnerId),
      secret: await secretOf(options, io),
      warehouse: textOf(options.warehouse),
    }),
  }
  refuse('--base-url', known.baseUrl, baseUrlJudged)
  refuse('--partner-id', known.partnerId, partnerIdJudged)
  refuse('--warehouse', known.warehouse, warehouseJudged)
  const isAsked = options.yes !== true && io.stdin.isTTY
  if (!isAsked) known.warehouse ??= usualWarehouse
  const lacking = Object.entries(flags).filter(([name]) => known[name as keyof Answers] === undefined)
  const answers = compact(known)
  if (lacking.length > 0 && !isAsked)
    throw new Stop(
      `Found no ${lacking.map(([, flag]) => flag).join(', no ')}, expected ${lacking.length === 1 ? 'it' : 'them'}, because init cannot ask here`,
      {
        exitCode: 2,
        hint: 'Type shopsync init at a terminal to be asked, shopsync init --sandbox --yes for the sandbox, or give the flags',
      },
    )
  return ask(answers, signals.signal, io)
}

const flags: Readonly<Record<keyof Answers, string>> = {
  baseUrl: '--base-url',
  partnerId: '--partner-id',
  secret: '--secret-file or --secret-stdin',
  warehouse: '--warehouse',
}

/** The members that are set. */
function compact<T extends object>(given: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const there = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(there) as { [K in keyof T]?: NonNullable<T[K]> }
}

function refuse(flag: string, value: string | undefined, judge: (text: string) => true | string): void {
  if (value === undefined) return
  const judged = judge(value)
  if (judged !== true) throw new Stop(`${flag}: ${judged}`, { exitCode: 2 })
}

async function secretOf(options: Invocation['options'], io: Io): Promise<string | undefined> {
  const file = textOf(options.secretFile)
  if (file === undefined && options.secretStdin !== true) return undefined
  const [{ readFile }, { text }, { resolve }] = await Promise.all([
    import('node:fs/promises'),
    import('node:stream/consumers'),
    import('node:path'),
  ])
  const path = resolve(io.workingDirectory, file ?? '')
  const secret = await (file === undefined ? text(io.stdin) : readFile(path, 'utf8')).catch(
    (cause: unknown) => {
      throw new Stop(
        `Could not read the secret from ${file ?? 'standard input'} (${codeFromOutside(cause)})`,
        {
          exitCode: 2,
          hint: 'Expected a file that holds the secret and nothing else',
          cause,
        },
      )
    },
  )
  if (secret.trim() !== '') return secret.trim()
  throw new Stop(`${file ?? 'Standard input'} is empty, expected the secret`, { exitCode: 2 })
}

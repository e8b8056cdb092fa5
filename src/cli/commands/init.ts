import { Stop } from '../../errors.js'
import type { Command, Invocation } from '../command.js'
import type { Answers } from '../initfiles.js'

/** Where `shopsync sandbox` listens, and what it accepts. */
const sandbox = { baseUrl: 'http://127.0.0.1:8080', partnerId: '42', secret: 'sandbox-secret' }

export const initCommand: Command = {
  name: 'init',
  summary: 'ask for address, partner and secret; write config.json and shopsync.env; try them',
  help: `
Writes into the working directory: config.json, and shopsync.env (mode 0600) with SHOPSYNC_API_SECRET. Every command
reads both by itself. Then it does what shopsync check does, and prints lines for crontab, a systemd unit and a compose file. Files
that are there are left alone without --force (exit 2).`,
  examples: [
    ['shopsync init', 'asks for what it needs'],
    ['shopsync init --sandbox --yes', 'for shopsync sandbox, without a question'],
    [
      'shopsync init --base-url https://api.example.com --partner-id 42 --secret-file key.txt --yes',
      'without a question',
    ],
  ],
  options: [
    { flags: '--base-url <url>', description: 'address of the API, such as https://api.example.com' },
    { flags: '--partner-id <id>', description: 'id of the API partner' },
    { flags: '--secret-file <file>', description: 'file that holds the secret and nothing else' },
    { flags: '--secret-stdin', description: 'read the secret from standard input' },
    {
      flags: '--warehouse <url>',
      description: 'sqlite:PATH or postgres://…; sqlite:./warehouse.db without a word',
    },
    { flags: '--sandbox', description: 'for the local sandbox: shopsync sandbox' },
    { flags: '--yes', description: 'ask nothing: what the flags do not say is the default' },
    { flags: '--force', description: 'write the files anew where they are there' },
  ],
  run: async (invocation) => {
    const [files, { examine }, { worstExit }, { checkText, findingOf }, text] = await Promise.all([
      import('../initfiles.js'),
      import('../examine.js'),
      import('../../sync/ask/trials.js'),
      import('../text/check.js'),
      import('../text/init.js'),
    ])
    const { options, out, globals } = invocation
    const folder = process.cwd()
    files.refuseToOverwrite(folder, options.force === true)
    const answers = await answersOf(invocation)
    const written = files.writeFiles(folder, answers)
    out.print(`${text.wroteText(written)}\n`)
    const [config] = written
    const trials = await examine({ ...invocation, globals: { ...globals, config, envFile: undefined } })
    const exitCode = worstExit(trials)
    if (exitCode === 0 || out.json) out.print(`${checkText(trials, out.paper)}\n`)
    else out.say(`${checkText(trials, out.paper)}\n`)
    const start = await startOf(folder)
    const isSandbox = answers.baseUrl === sandbox.baseUrl
    out.printAsIs(text.nextText(start, { isSandbox }))
    if (out.json)
      await out.document({
        files: written,
        checks: trials.map(findingOf),
        crontab: text.crontab(start),
        systemd: text.systemdUnit(start),
        compose: text.composeFile(start),
      })
    return exitCode
  },
}

async function startOf(folder: string) {
  const [{ realpathSync }, { userInfo }] = await Promise.all([import('node:fs'), import('node:os')])
  const { username, uid, gid } = userInfo()
  return {
    node: process.execPath,
    program: realpathSync(process.argv[1] ?? ''),
    folder,
    user: username,
    ids: `${uid}:${gid}`,
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** What the flags say, and for the rest what is typed, or the defaults. */
async function answersOf({ options, signals }: Invocation): Promise<Answers> {
  const { baseUrlJudged, warehouseJudged, ask, usualWarehouse } = await import('../questions.js')
  const known: { -readonly [K in keyof Answers]?: string | undefined } = {
    ...(options.sandbox === true && sandbox),
    ...compact({
      baseUrl: textOf(options.baseUrl),
      partnerId: textOf(options.partnerId),
      secret: await secretOf(options),
      warehouse: textOf(options.warehouse),
    }),
  }
  refuse('--base-url', known.baseUrl, baseUrlJudged)
  refuse('--warehouse', known.warehouse, warehouseJudged)
  if (options.yes === true) known.warehouse ??= usualWarehouse
  const lacking = Object.entries(flags).filter(([name]) => known[name as keyof Answers] === undefined)
  const answers = compact(known)
  if (lacking.length > 0 && (options.yes === true || !process.stdin.isTTY))
    throw new Stop(
      `Found no ${lacking.map(([, flag]) => flag).join(', no ')}, expected all of them: nobody is asked`,
      {
        exitCode: 2,
        hint: 'Type shopsync init at a terminal to be asked, shopsync init --sandbox --yes for the sandbox, or give the flags',
      },
    )
  return ask(answers, signals.signal)
}

const flags: Readonly<Record<keyof Answers, string>> = {
  baseUrl: '--base-url',
  partnerId: '--partner-id',
  secret: '--secret-file or --secret-stdin',
  warehouse: '--warehouse',
}

/** The members that are there. */
function compact<T extends object>(given: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const there = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(there) as { [K in keyof T]?: NonNullable<T[K]> }
}

function refuse(flag: string, value: string | undefined, judge: (text: string) => true | string): void {
  if (value === undefined) return
  const judged = judge(value)
  if (judged !== true) throw new Stop(`${flag}: ${judged}`, { exitCode: 2 })
}

async function secretOf(options: Invocation['options']): Promise<string | undefined> {
  const file = textOf(options.secretFile)
  if (file === undefined && options.secretStdin !== true) return undefined
  const [{ readFile }, { text }] = await Promise.all([
    import('node:fs/promises'),
    import('node:stream/consumers'),
  ])
  const secret = await (file === undefined ? text(process.stdin) : readFile(file, 'utf8')).catch(
    (cause: unknown) => {
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
      throw new Stop(`Could not read the secret from ${file ?? 'standard input'} (${code})`, {
        exitCode: 2,
        hint: 'Expected a file that holds the secret and nothing else',
        cause,
      })
    },
  )
  if (secret.trim() !== '') return secret.trim()
  throw new Stop(`Found nothing in ${file ?? 'standard input'}, expected the secret`, { exitCode: 2 })
}

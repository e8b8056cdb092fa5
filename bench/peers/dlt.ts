/**
 * dlt as a contender: its virtual environment, and runs of dlt_load.py that count the time and memory of child
 * processes.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Measured, Task } from '../load.js'
import { residentMegabytes } from '../processes.js'

const run = promisify(execFile)
const sampleMs = 200

export interface Dlt {
  readonly python: string
  /** Versions and settings, for people. */
  readonly about: string
}

/** The environment is in the temporary folder, one for each set of versions, and is reused. */
async function environment(): Promise<string> {
  const requirements = join(process.cwd(), 'bench/peers/requirements.txt')
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12)
  const folder = join(tmpdir(), `shopsync-bench-peers-${hash}`)
  const python = join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python')
  if (existsSync(join(folder, 'ready'))) return python
  process.stderr.write(`installing dlt into ${folder}\n`)
  await run('python3', ['-m', 'venv', '--clear', folder])
  await run(python, ['-m', 'pip', 'install', '--quiet', '--no-deps', '-r', requirements])
  writeFileSync(join(folder, 'ready'), '')
  return python
}

/** undefined if dlt isn't available, which is reported in one sentence on the terminal. */
export async function findDlt(): Promise<Dlt | undefined> {
  try {
    const python = await environment()
    const versions = 'import dlt, sys; print(dlt.__version__, sys.version.split()[0])'
    const { stdout } = await run(python, ['-c', versions])
    const [dlt, own] = stdout.trim().split(' ')
    const settings =
      'rest_api source, merge by key, incremental by updated_at, defaults of dlt, telemetry off'
    return { python, about: `dlt ${dlt} on Python ${own}: ${settings}` }
  } catch (error) {
    const reason = lastLine(error instanceof Error ? error.message : String(error))
    process.stderr.write(
      `dlt is left out: it needs python3 with venv and pip, and a package index to install from (${reason})\n`,
    )
    return undefined
  }
}

export const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.slice(0, 300) ?? ''

export interface DltTask extends Omit<Task, 'contender'> {
  /** dlt's own state, and its SQLite file. */
  readonly folder: string
}

/** Rejects with the last line that dlt printed if dlt failed. */
export async function loadWithDlt(
  { python }: Dlt,
  task: DltTask,
  settings: Readonly<Record<string, string>>,
): Promise<Measured & { readonly rows: number }> {
  const program = join(process.cwd(), 'bench/peers/dlt_load.py')
  const env = { ...process.env, RUNTIME__DLTHUB_TELEMETRY: 'false', ...settings }
  const running = run(python, [program, JSON.stringify(task)], { env, cwd: task.folder, maxBuffer: 1e9 })
  let peak = 0
  const timer = setInterval(() => {
    peak = Math.max(peak, residentMegabytes(running.child.pid ?? 0))
  }, sampleMs)
  const giveUp = (): void => void running.child.kill('SIGKILL')
  process.once('exit', giveUp)
  try {
    const measured = JSON.parse(lastLine((await running).stdout)) as Measured & { rows: number }
    return { ...measured, megabytes: Math.max(measured.megabytes, peak) }
  } catch (error) {
    throw new Error(failureIn((error as { stderr?: string }).stderr ?? String(error)))
  } finally {
    process.off('exit', giveUp)
    clearInterval(timer)
  }
}

/** SQLAlchemy and dlt print hints below the error. */
function failureIn(text: string): string {
  const lines = text.trim().split('\n')
  const told = lines.findLast((line) => /Error|locked|Exception/.test(line))
  return (told ?? lines.at(-1) ?? '').trim().slice(0, 300)
}

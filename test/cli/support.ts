// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.js'

export const program = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url))
if (!existsSync(program))
  throw new Error(`Found no ${program}; these tests run what was built. Type npm run build`)

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** stdout, parsed: throws when it is not exactly one JSON document. */
  json<T>(): T
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Record<string, string>
  /** Called with the process once it runs. */
  readonly during?: (child: ReturnType<typeof spawn>) => void
}

/** Runs the built program as a shell would. */
export function shopsync(words: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [program, ...words], {
    cwd: options.cwd ?? tmpdir(),
    env: { PATH, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const texts = { stdout: '', stderr: '' }
  child.stdout?.on('data', (data: Buffer) => (texts.stdout += data))
  child.stderr?.on('data', (data: Buffer) => (texts.stderr += data))
  options.during?.(child)
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ code, ...texts, json: () => JSON.parse(texts.stdout) }))
  })
}

/** A working directory with a configuration for a small sandbox. */
export interface Place {
  readonly folder: string
  readonly sandbox: Sandbox
  run(...words: string[]): Promise<Outcome>
  /** Writes config.json anew, with these settings over the usual ones. */
  configure(more?: Record<string, object>): void
  remove(): Promise<void>
}

export async function place(options: SandboxOptions = {}): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-cli-'))
  const sandbox = await createSandbox({ tenants: 2, repairOrders: 12, seed: 3, ...options })
  const configure = (more: Record<string, object> = {}): void => {
    const usual: Record<string, object> = {
      api: {
        baseUrl: sandbox.url,
        partnerId: sandbox.partnerId,
        secret: '${API_SECRET}',
        retry: { attempts: 2, base: 'PT0.01S', max: 'PT0.02S' },
      },
      warehouse: { url: 'sqlite:./data/warehouse.db' },
    }
    const names = new Set([...Object.keys(usual), ...Object.keys(more)])
    const merged = [...names].map((name) => [name, { ...usual[name], ...more[name] }])
    writeFileSync(join(folder, 'config.json'), JSON.stringify(Object.fromEntries(merged)))
  }
  configure()
  return {
    folder,
    sandbox,
    configure,
    run: (...words) => shopsync(words, { cwd: folder, env: { API_SECRET: sandbox.secret } }),
    remove: async () => {
      await sandbox.close()
      rmSync(folder, { recursive: true })
    },
  }
}

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
/** The program as a shell would run it, in a folder with a configuration: for the tests of the commands. */
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.js'
import { type Ended, Program, program } from './process.js'
import { scratch } from './scratch.js'

interface ShellOptions {
  readonly cwd?: string
  readonly env?: Record<string, string>
  /** Called with the process once it runs. */
  readonly during?: (child: Program['child']) => void
}

/** Runs the program with an environment of PATH and `env` alone. */
export function shopsync(words: readonly string[], options: ShellOptions = {}): Promise<Ended> {
  const { PATH = '' } = process.env
  const run = new Program(program, words, {
    cwd: options.cwd ?? tmpdir(),
    env: { PATH, ...options.env },
  })
  options.during?.(run.child)
  return run.ended
}

/** A working directory with a configuration for a small sandbox. */
export interface Place {
  readonly folder: string
  readonly sandbox: Sandbox
  run(...words: string[]): Promise<Ended>
  /** Writes config.json anew, with these settings over the usual ones. */
  configure(more?: Record<string, object>): void
  remove(): Promise<void>
}

export async function place(options: SandboxOptions = {}): Promise<Place> {
  const folder = scratch()
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

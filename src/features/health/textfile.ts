import { access, chmod, constants, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Stop } from '../../engine/base/errors.js'

/** The file is collected by another user, so the umask of this process must not apply. */
const mode = 0o644

/**
 * Writes the metrics to the file that node_exporter collects. It first writes a temporary file next to it, with a name
 * that node_exporter ignores, so that it never reads half a file. `folder`: the base of a relative path. Throws if the
 * file can't be written.
 */
export async function writeTextfile(named: string, text: string, folder: string): Promise<void> {
  const file = resolve(folder, named)
  const beside = join(dirname(file), `.${basename(file)}.${process.pid}.tmp`)
  try {
    await writeFile(beside, text)
    await chmod(beside, mode)
    await rename(beside, file)
  } catch (error) {
    await rm(beside, { force: true }).catch(() => {})
    throw error
  }
}

/** Throws Stop if the file could not be written or nobody would collect it; writes nothing. */
export async function tryTextfile(file: string, base: string): Promise<void> {
  const folder = resolve(base, dirname(file))
  if (!file.endsWith('.prom'))
    throw new Stop(
      `metrics.textfile is ${file}: node_exporter ignores a file whose name does not end in .prom`,
      {
        exitCode: 1,
        hint: `Write "textfile": "${join(dirname(file), 'shopsync.prom')}" into the configuration`,
      },
    )
  await access(folder, constants.W_OK).catch((cause: unknown) => {
    throw new Stop(`metrics.textfile is ${file}: found no folder ${folder} that this user may write`, {
      exitCode: 1,
      hint: `Type mkdir -p ${folder}, or give this user the right to write there`,
      cause,
    })
  })
}

import { chmod, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Who collects the file is another user, whatever the umask of this process says. */
const mode = 0o644

/**
 * Writes the metrics to the file that node_exporter collects: beside it first, and under a name that node_exporter does
 * not take, so that it never reads half of a file. Throws where the file cannot be written.
 */
export async function writeTextfile(file: string, text: string): Promise<void> {
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

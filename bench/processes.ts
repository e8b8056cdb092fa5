/** The resources used by a process's descendants, as counted by Linux; undefined on systems without /proc. */
import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts processor time in hundredths of a second, whatever the kernel's own clock. */
const ticksOfSecond = 100

const lineOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function childrenOf(pid: number): number[] {
  let threads: string[] = []
  try {
    threads = readdirSync(`/proc/${pid}/task`)
  } catch {}
  const texts = threads.map((thread) => lineOf(`/proc/${pid}/task/${thread}/children`) ?? '')
  return texts.flatMap((text) => text.split(' ').filter(Boolean).map(Number))
}

const treeOf = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(treeOf)]

/** The fields of /proc/PID/stat after the name, which may contain spaces; the first is the state. */
const statOf = (pid: number): string[] | undefined => {
  const text = lineOf(`/proc/${pid}/stat`)
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')
}

export const parentOf = (pid: number): number | undefined => {
  const parent = statOf(pid)?.[1]
  return parent === undefined ? undefined : Number(parent)
}

/** User and system time of a process and all its descendants, including those that have ended. */
export function processorSeconds(pid: number): number | undefined {
  if (statOf(pid) === undefined) return undefined
  const ticks = treeOf(pid).map((one) =>
    (statOf(one) ?? []).slice(11, 15).reduce((sum, field) => sum + Number(field), 0),
  )
  return ticks.reduce((sum, own) => sum + own, 0) / ticksOfSecond
}

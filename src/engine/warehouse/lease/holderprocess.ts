/**
 * The process that holds the lease: where it runs, and whether it has ended. Used by claim.ts, leaserows.ts and
 * heldturn.ts.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Int64 } from '../../../../schema/resource.js'

/** The text that `read` returns. Empty if this system has no such file. */
function orEmpty(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

/**
 * Host name, boot and pid namespace: within these three, a pid identifies one process. For a holder elsewhere, its pid
 * can't show that it is dead; its lease has to expire.
 */
export function thisMachine(): string {
  const boot = orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8))
  const namespace = orEmpty(() => readlinkSync('/proc/self/ns/pid').replace(/\D/g, ''))
  return [hostname(), boot, namespace].filter(Boolean).join('/')
}

/** The name of a holder's machine, for people: without what tells its boots and containers apart. */
export const machineName = (host: string | null): string => host?.split('/', 1)[0] ?? 'an unknown host'

/** Whether a process has ended but its parent hasn't collected its exit code: such a process still accepts signals. */
const isZombie = (pid: number): boolean =>
  /\) [ZX] /.test(orEmpty(() => readFileSync(`/proc/${pid}/stat`, 'utf8')))

/** Whether the holder's process is gone; this can only be known on the same machine. */
export function isDead(holder: { readonly host: string | null; readonly pid: Int64 | null }): boolean {
  if (holder.host !== thisMachine() || holder.pid === null) return false
  try {
    process.kill(Number(holder.pid), 0)
    return isZombie(Number(holder.pid))
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}

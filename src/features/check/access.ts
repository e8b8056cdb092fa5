/*
 * Which tenants and which resources can be read: the part of `shopsync check` that requests lists. Used by
 * check/work.ts.
 */
import pLimit from 'p-limit'
import type { Int64 } from '../../../schema/resource.js'
import { Skip, Stop } from '../../engine/base/errors.js'
import { unixEpoch } from '../../engine/list/cutpoint.js'
import type { Model, ResourceModel } from '../../engine/model/resourcemodel.js'
import type { Observer } from '../../engine/run/runreport.js'
import type { Source } from '../../engine/source/source.js'
import { failure, type Trial } from './trials.js'

export interface ApiCheck {
  readonly source: Source
  readonly model: Model
  /** Tenants named in the configuration; null: all. */
  readonly tenants: readonly Int64[] | null
  /** Tenants that are not walked. */
  readonly except: readonly Int64[]
  readonly nowMicros: () => bigint
  readonly signal: AbortSignal
  readonly observer: Pick<Observer, 'step'>
}

/** How many resources are tried before a tenant counts as not answering. */
const mostTried = 3
const atOnce = 4

/** The API documentation leaves open whether such a resource exists. */
const isNotOffered = ({ resource }: ResourceModel, error: unknown): boolean =>
  !resource.documented && error instanceof Skip && error.reason === 'absent'

/**
 * Requests one list of each tenant, and every list of one tenant. If a tenant's list fails, another resource is tried.
 * If that one answers, the resource is at fault and is reported once for all tenants.
 */
export class AccessCheck {
  readonly #resources: readonly ResourceModel[]
  readonly #broken = new Map<string, Trial>()
  readonly #absent: string[] = []

  constructor(private readonly options: ApiCheck) {
    const { list } = options.model
    this.#resources = list.filter(({ enabled, resource }) => enabled && resource.scope === 'tenant')
  }

  async run(tenants: readonly Int64[]): Promise<{
    readonly trials: readonly Trial[]
    /** The largest list, for the tenant whose first list was the largest. */
    readonly largest: { readonly tenantId: Int64; readonly resource: ResourceModel } | undefined
  }> {
    const limit = pLimit(atOnce)
    let done = 0
    const ask = async (tenantId: Int64) => {
      const found = await this.#tenant(tenantId)
      done += 1
      this.options.observer.step?.('querying a list of each tenant', done, tenants.length)
      return found
    }
    const asked = await Promise.all(tenants.map((tenantId) => limit(() => ask(tenantId))))
    this.options.observer.step?.('testing the source, the warehouse and the views', 0, 0)
    const [best] = asked
      .flatMap(({ tenantId, answering }) => (answering ? [{ tenantId, answering }] : []))
      .sort((a, b) => b.answering.records - a.answering.records)
    const trials = asked.map(({ trial }) => trial)
    if (!best) return { trials: [...trials, ...this.#broken.values()], largest: undefined }
    const { tenantId, answering } = best
    const others = this.#resources.filter(
      (resource) => resource !== answering.resource && !this.#broken.has(resource.name),
    )
    const found = await Promise.all(others.map((resource) => limit(() => this.#resource(tenantId, resource))))
    const answers = [answering, ...found.flatMap((one) => one ?? [])]
    const [largest] = answers
      .filter(({ resource }) => resource.resource.list === 'records')
      .sort((a, b) => b.records - a.records)
    const all: Trial = {
      of: 'resources',
      tenantId,
      answering: answers.length,
      absent: this.#absent,
      exitCode: 0,
    }
    return {
      trials: [...trials, all, ...this.#broken.values()],
      largest: largest && { tenantId, resource: largest.resource },
    }
  }

  async #tenant(tenantId: Int64): Promise<{
    tenantId: Int64
    trial: Trial
    answering: { readonly resource: ResourceModel; readonly records: number } | undefined
  }> {
    const isUsual = ({ resource }: ResourceModel): boolean =>
      resource.documented && resource.list === 'records'
    const others = this.#resources.filter((resource) => !isUsual(resource))
    const tried = [...this.#resources.filter(isUsual), ...others].slice(0, mostTried)
    const failed: { resource: ResourceModel; error: unknown }[] = []
    for (const resource of tried) {
      try {
        const records = await this.#count(tenantId, resource)
        for (const { resource, error } of failed) this.#fault(tenantId, resource, error)
        const readable = { resource: resource.name, records }
        const trial: Trial = { of: 'tenant', tenantId, readable, exitCode: 0 }
        return { tenantId, trial, answering: { resource, records } }
      } catch (error) {
        this.options.signal.throwIfAborted()
        if (isNotOffered(resource, error)) continue
        failed.push({ resource, error })
        if (error instanceof Stop) break
      }
    }
    const [first] = failed
    const trial: Trial = first
      ? failure(`tenant ${tenantId}`, first.error, first.error instanceof Stop ? 3 : 1)
      : { of: 'tenant', tenantId, readable: undefined, exitCode: 1 }
    return { tenantId, trial, answering: undefined }
  }

  async #resource(
    tenantId: Int64,
    resource: ResourceModel,
  ): Promise<{ readonly resource: ResourceModel; readonly records: number } | undefined> {
    try {
      return { resource, records: await this.#count(tenantId, resource) }
    } catch (error) {
      this.options.signal.throwIfAborted()
      if (isNotOffered(resource, error)) this.#absent.push(resource.name)
      else this.#fault(tenantId, resource, error)
      return undefined
    }
  }

  #fault(tenantId: Int64, { name: resource }: ResourceModel, error: unknown): void {
    this.#broken.set(resource, { of: 'resource', resource, tenantId, error, exitCode: 1 })
  }

  /** The cheapest request that shows whether a list can be read. */
  async #count(tenantId: Int64, { path, resource }: ResourceModel): Promise<number> {
    const { source, signal } = this.options
    const asked = { tenantId, path, priority: 'lookup', signal } as const
    if (resource.list === 'strings') return (await source.strings(asked)).value.length
    return (await source.list({ ...asked, updatedAfter: unixEpoch, page: 1, perPage: 1 })).total
  }
}

/*
 * Traces: a run, its cursors, their requests and stored pages as spans. Uses only OpenTelemetry's API
 * (docs/operations.md, Traces).
 */
import type { Span } from '@opentelemetry/api'
import { Retry, Skip, Stop } from './errors.js'

/** Keys, names, counts and our own words: no customer data, and no text that came from outside. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>

/**
 * Where all copies of OpenTelemetry's API with the same major version meet. An SDK is attached before the program
 * starts. Without one, we don't even load the API, since loading takes longer than all spans of a run.
 */
const meeting = Symbol.for('opentelemetry.js.api.1')
const api = meeting in globalThis ? await import('@opentelemetry/api') : undefined
const tracer = api?.trace.getTracer('shopsync')

/** Runs the work inside a span. An error shows only its class and code, because a message may quote the source. */
export function inSpan<T>(
  name: 'run' | 'cursor' | 'request' | 'store',
  facts: SpanFacts,
  /** `tell` adds facts that are known only at the end. A fact named `error.type` marks the span as failed. */
  work: (tell: (facts: SpanFacts) => void) => Promise<T>,
): Promise<T> {
  if (!api || !tracer) return work(() => {})
  const kind = name === 'request' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL
  return tracer.startActiveSpan(`shopsync.${name}`, { kind }, async (span) => {
    const tell = (more: SpanFacts): void => addFacts(span, more)
    try {
      tell(facts)
      return await work(tell)
    } catch (error) {
      tell({ 'error.type': codeOf(error) })
      throw error
    } finally {
      span.end()
    }
  })
}

function addFacts(span: Span, facts: SpanFacts): void {
  if (!api || !span.isRecording()) return
  const failure = facts['error.type']
  if (failure !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR, message: String(failure) })
  for (const [name, value] of Object.entries(facts)) if (value !== undefined) span.setAttribute(name, value)
}

function codeOf(error: unknown): string {
  if (error instanceof Stop || error instanceof Skip || error instanceof Retry)
    return error.details.code ?? error.name
  return error instanceof Error ? error.name : 'error'
}

/** A collector that doesn't answer must not keep a command from ending. */
const flushPatience = 5000

/** Sends what the SDK has buffered, because the program ends without waiting for timers. Never throws. */
export async function flushSpans(): Promise<void> {
  const provider = api?.trace.getTracerProvider()
  if (!api || !provider) return
  const sdk: object = provider instanceof api.ProxyTracerProvider ? provider.getDelegate() : provider
  const flush = 'forceFlush' in sdk ? sdk.forceFlush : undefined
  if (typeof flush !== 'function') return
  const flushed = Promise.resolve()
    .then(() => flush.call(sdk))
    .catch(() => {})
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, flushPatience)
  })
  await Promise.race([flushed, late])
  clearTimeout(timer)
}

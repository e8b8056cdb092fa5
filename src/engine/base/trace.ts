/*
 * Traces: a run, its cursors, their requests and stored pages as spans, through the API of OpenTelemetry alone
 * (docs/operations.md, Traces).
 */
import type { Span } from '@opentelemetry/api'
import { Retry, Skip, Stop } from './errors.js'

/** Keys, names, counts and words of ours: nothing of a customer, and no text that somebody else wrote. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>

/** Adds facts that are known at the end only; one named `error.type` makes the span a failed one. */
export type TellSpan = (facts: SpanFacts) => void

/**
 * Where all copies of OpenTelemetry's API of one major version meet. Whoever attaches an SDK does so before the program
 * begins; without one, the API is not even loaded, since that takes longer than all spans of a run.
 */
const meeting = Symbol.for('opentelemetry.js.api.1')
const api = meeting in globalThis ? await import('@opentelemetry/api') : undefined
const tracer = api?.trace.getTracer('shopsync')

/** Does the work within a span. What it throws shows by its class and code: a message may quote the source. */
export function inSpan<T>(
  name: 'run' | 'cursor' | 'request' | 'store',
  facts: SpanFacts,
  work: (tell: TellSpan) => Promise<T>,
): Promise<T> {
  if (!api || !tracer) return work(() => {})
  const kind = name === 'request' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL
  return tracer.startActiveSpan(`shopsync.${name}`, { kind }, async (span) => {
    const tell: TellSpan = (more) => addFacts(span, more)
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

/** A collector that says nothing must not keep a command from its end. */
const flushPatience = 5000

/** Sends what the SDK holds back: the program ends without waiting for anybody's timers. Never throws. */
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

export type { EventDelivery } from './http/deliverylog.js'
export type { RateOptions } from './http/ratelimit.js'
export type { RequestFacts } from './http/request.js'
export type { RequestLine } from './http/requestlog.js'
export type { RequestHook } from './http/server.js'
export { isDeliverable, MOST_WEBHOOKS, type Webhook, type WebhookOptions } from './http/webhooks.js'
export {
  type Micros,
  type MicrosClock,
  parseInstant,
  printInstant,
  type TimestampStyle,
} from './instant.js'
export { type RunSandboxOptions, readScript, runSandbox } from './main.js'
export { Random } from './random.js'
export type { ApiRecord } from './records/json.js'
export { EVENT_NAMES } from './records/resources.js'
export type { PutOptions, Store, StoreChange } from './records/store.js'
export { serviceTemplate, template } from './records/template.js'
export type { TenantOptions } from './records/tenant.js'
export { hasMovable, transfer } from './records/transfer.js'
export { createSandbox, type Sandbox, type SandboxOptions } from './sandbox.js'
export type { ConnectionFault, EventAction, Fault, Motion, Rule, When } from './script/rules.js'

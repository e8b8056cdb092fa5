/** GENERATED from the files of this folder by ../registry.mjs (npm run build). */
import type { RowOfView, View } from '../view.js'
import orders from './orders.js'

const declared = {
  orders,
}

/** Every declared view, in the order of their names. */
export const views: readonly View[] = Object.values(declared)

/** The views as Kysely sees them. */
export type ViewRows = { [N in keyof typeof declared]: RowOfView<(typeof declared)[N]> }

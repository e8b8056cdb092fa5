import { views } from '../../../schema/views/index.js'
import type { ViewStore, WantedView } from '../../engine/warehouse/views/viewstore.js'
import { type ViewSettings, viewText } from './viewwords.js'

/** The views of schema/views/ in the SQL of the database. */
export const declaredViews = (store: Pick<ViewStore, 'sql'>, settings: ViewSettings): WantedView[] =>
  views.map((view) => ({
    name: view.name,
    doc: `${view.doc} Grain: ${view.grain}.`,
    columns: Object.entries(view.columns).map(([name, { doc, kind }]) => ({ name, doc, kind })),
    ...viewText(view, store.sql, settings),
  }))

import { adoptionHint } from '../engine/warehouse/sourceidentity.js'

/** Said of a warehouse whose source is not the one that the configuration names. */
export const foreignAdvice = `The configuration names a different source, so runs are refused. ${adoptionHint}`

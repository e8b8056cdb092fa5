/**
 * A folder that dbt runs as it is: the sources, a model that passes each of the analysts' relations through, incremental
 * copies of the tables, a time spine, and semantic models and metrics made from the figures.
 */
import { stringify } from 'yaml'
import { figures } from '../../../schema/figures/index.js'
import { dbtIncrements, incrementOf, progressModel } from './dbtincrements.js'
import { dbtMetrics, modelOf, semanticModels } from './dbtmetrics.js'
import { type DbtOptions, forAnalysts, toDbt, viewsSource } from './dbtmodels.js'
import type { Dictionary, DictionaryTable } from './dictionary.js'
import { type Files, generatedBy } from './folder.js'

const spine = 'shopsync_time_spine'

const yaml = (content: object): string =>
  `# ${generatedBy}\n${stringify(content, { lineWidth: 110, aliasDuplicateObjects: false })}`

const sql = (text: string): string => `-- ${generatedBy}\n${text}\n`

const source = (table: string): string => `{{ source('${viewsSource}', '${table}') }}`

const project = ({ materialized }: DbtOptions) => ({
  name: 'shopsync',
  version: '1.0.0',
  'config-version': 2,
  profile: 'shopsync',
  'model-paths': ['models'],
  'require-dbt-version': ['>=1.10.0', '<2.0.0'],
  models: { shopsync: { '+materialized': materialized } },
})

const relationEntry = ({ name, description, grain }: DictionaryTable) => ({
  name: modelOf(name),
  description: `${description} Grain: ${grain}.`,
})

const spineEntry = {
  name: spine,
  description: 'One row per day, for MetricFlow.',
  time_spine: { standard_granularity_column: 'date_day' },
  columns: [{ name: 'date_day', granularity: 'day' }],
}

export function toDbtProject(dictionary: Dictionary, options: DbtOptions): Files {
  const relations = forAnalysts(dictionary)
  const increments = dbtIncrements(dictionary)
  const copies = increments.names.map(({ name }) => ({
    name: incrementOf(name),
    description: `A copy of ${name}, continued by what has changed. Deleted rows stay, with _deleted_at.`,
  }))
  const progress = { name: progressModel, description: 'Up to which stamp the copies are continued.' }
  return {
    'dbt_project.yml': yaml(project(options)),
    'models/sources.yml': toDbt(dictionary, options),
    'models/relations.yml': yaml({ version: 2, models: [...relations.map(relationEntry), spineEntry] }),
    'models/increments.yml': yaml({ version: 2, models: [progress, ...copies] }),
    'models/semantic_models.yml': yaml({ semantic_models: semanticModels(relations, figures) }),
    'models/metrics.yml': yaml({ metrics: dbtMetrics(figures) }),
    [`models/${spine}.sql`]: sql(`select day as date_day from ${source('dim_days')}`),
    ...Object.fromEntries(Object.entries(increments.files).map(([name, text]) => [name, sql(text)])),
    ...Object.fromEntries(
      relations.map(({ name }) => [
        `models/relations/${modelOf(name)}.sql`,
        sql(`select * from ${source(name)}`),
      ]),
    ),
  }
}

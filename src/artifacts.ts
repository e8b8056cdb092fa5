/** Writes the committed files that are generated from the declarations. Run at the end of `npm run build`. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { resources } from '../schema/index.js'
import { Bug } from './engine/base/errors.js'
import { configReference } from './engine/config/reference.js'
import { configSchema } from './engine/config/schema.js'
import { tablesOf } from './engine/model/table.js'
import { describeModel } from './features/dictionary/describe.js'
import { toMarkdown } from './features/dictionary/markdown.js'
import { jobSchema } from './features/jobs/jobfile.js'

/** The folder of package.json, whether this file runs from `dist` or from the sources. */
function projectRoot(): URL {
  for (let folder = new URL('.', import.meta.url); folder.pathname !== '/'; folder = new URL('..', folder)) {
    if (existsSync(new URL('package.json', folder))) return folder
  }
  throw new Bug('No package.json above this file')
}

function writeWhenChanged(file: URL, text: string): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return
  mkdirSync(new URL('.', file), { recursive: true })
  writeFileSync(file, text)
  process.stderr.write(`wrote ${fileURLToPath(file)}\n`)
}

const root = projectRoot()
writeWhenChanged(new URL('schema/dictionary.md', root), toMarkdown(describeModel(Object.values(resources))))
const config = configSchema(tablesOf)
const job = jobSchema()
writeWhenChanged(new URL('schema/config.schema.json', root), `${JSON.stringify(config, null, 2)}\n`)
writeWhenChanged(new URL('schema/job.schema.json', root), `${JSON.stringify(job, null, 2)}\n`)
writeWhenChanged(new URL('docs/configuration.md', root), configReference(config, job))

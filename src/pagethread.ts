/* The thread that makes a page of the report: features/schedule/pagemaker.ts starts it. */
import { parentPort, workerData } from 'node:worker_threads'
import { makePage, type PageCall } from './features/schedule/page.js'
import { features } from './main.js'

parentPort?.postMessage(await makePage(features, workerData as PageCall))

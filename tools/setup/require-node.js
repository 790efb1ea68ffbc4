// First among the imports of every set-up script: says at once what is wrong with a Node that is too old for them.
import { explainOldNode } from './node-version.js'

const complaint = explainOldNode(process.versions.node)
if (complaint) {
  console.error(`gatehouse: ${complaint}`)
  process.exit(1)
}

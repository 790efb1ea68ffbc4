// The first import of each script: an old Node would show a stack trace.
const lowestMajor = 20

/** @param {string} version as in process.versions.node. Gives one line for one that cannot run these scripts, else null. */
export function explainOldNode(version) {
  if (Number(version.split('.')[0]) >= lowestMajor) return null
  return `Node ${lowestMajor} or later is needed, and this is ${version}: install a newer one (https://nodejs.org) and run the command again`
}

const explanation = explainOldNode(process.versions.node)
if (explanation) {
  console.error(`gatehouse: ${explanation}`)
  process.exit(1)
}

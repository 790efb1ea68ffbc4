// What is built for this machine: the programs of the image, and those of tests.
import { builtPrograms, testPrograms } from './build-programs.js'
import config, { inputOf } from './rolldown.config.js'

/** @type {import('rolldown').RolldownOptions} */
export default { ...config, input: inputOf([...builtPrograms, ...testPrograms]) }

/** The name of a file in the upload folder: no path, and no dot at the start, where work in progress lies. */
export function isUploadName(name: string): boolean {
  return /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(name)
}

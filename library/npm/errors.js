// Errors of the library. Between threads they are plain objects, which have no class.

export class PathlightError extends Error {
  constructor({ kind, message, position = null, nextStep }, cause) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "PathlightError";
    this.kind = kind;
    this.position = position;
    this.nextStep = nextStep;
  }
}

/** Returns an error as what can be sent. */
export function sent(error) {
  if (error instanceof PathlightError) {
    const { kind, message, position, nextStep } = error;
    return { kind, message, position, nextStep };
  }
  return { kind: "broken", message: String(error?.message ?? error), nextStep: "Read the traces again." };
}

import { MemoryStore } from "../../../src/index.js";
import { describeStateStore } from "../../contract/state-store-contract.js";

describeStateStore("memory store", (options) => new MemoryStore(options));
